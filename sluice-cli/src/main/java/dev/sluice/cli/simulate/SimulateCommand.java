package dev.sluice.cli.simulate;

import dev.sluice.Limit;
import dev.sluice.cli.runtime.BaseCommand;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.runtime.ProgressLine;
import dev.sluice.cli.text.InvalidInputException;
import java.io.BufferedWriter;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice simulate}: a scenario in a file, or one bucket and a list of requests. */
@Command(
    name = "simulate",
    description = {
      "Show what limits, weights and budgets do to a load, in simulated time.",
      "The load is a scenario in FILE, shown with plots, or a list of requests for one limit."
    },
    customSynopsis = {
      "sluice simulate FILE [--set=KEY=VALUE]... [--json]",
      "                       [--report=FILE | --no-report]",
      "       sluice simulate (--refill=TOKENS/PERIOD | --strict=PERIOD | --manual)",
      "                       [--capacity=N] [--initial=N] [--wait] [--json]",
      "                       (REQUEST... | --file=FILE)"
    },
    footer = {
      "",
      "A duration is a number and a unit: ns, us, ms, s, m, h or d.",
      "",
      "Examples:",
      "  sluice simulate examples/simulate/noisy-neighbor.toml",
      "  sluice simulate day.toml --set callers.chat.arrivals.high=4 --json",
      "  sluice simulate --refill 10/1s 0ms:7 200ms:5 650ms:3",
      "  sluice simulate --capacity 10 --strict 1m --file requests.txt",
      "  sluice simulate --capacity 10 --refill 10/10ms --wait 0ms:1x12 5ms:1x7"
    })
public final class SimulateCommand extends BaseCommand {
  /** Matches a request, which cannot be a file name. */
  private static final Pattern REQUEST = Pattern.compile("[0-9.]+[a-z]*:[0-9x]+|-");

  private final CommandContext context;

  @Mixin private final ScenarioOptions scenarioOptions = new ScenarioOptions();

  @Mixin private final LimitOptions limitOptions = new LimitOptions();

  @Option(
      names = "--initial",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "Tokens in the bucket at the start. Default: full.")
  private @Nullable Long initial;

  @Option(names = "--wait", description = "Excess requests wait instead of being denied.")
  private boolean waiting;

  @Option(
      names = "--file",
      paramLabel = "FILE",
      description =
          "Read the requests from FILE, one per line, # begins a comment; - is standard"
              + " input.")
  private @Nullable Path file;

  @Option(names = "--json", description = "Print a JSON object.")
  private boolean json;

  @Parameters(
      paramLabel = "FILE or REQUEST",
      arity = "0..*",
      description =
          "A scenario (docs/simulate.md); or, with a limit, TIME:TOKENS or TIME:TOKENSxCOUNT in"
              + " order of time, such as 200ms:5 or 0ms:1x12; a single - reads them from standard"
              + " input.")
  private List<String> requests = new ArrayList<>();

  public SimulateCommand(CommandContext context) {
    this.context = context;
  }

  @Override
  public Integer call() {
    if (limitOptions.given()) {
      simulateLimit();
    } else {
      simulateScenario();
    }
    return ExitCode.OK;
  }

  private void simulateScenario() {
    if (requests.size() != 1 || REQUEST.matcher(requests.get(0)).matches()) {
      throw new InvalidInputException(
          "give one FILE with a scenario, or a limit and requests: one of"
              + " --refill=TOKENS/PERIOD, --strict=PERIOD and --manual");
    }
    if (initial != null || waiting || file != null) {
      throw new InvalidInputException(
          "--initial, --wait and --file require a limit, not a scenario");
    }
    PrintWriter buffered = new PrintWriter(new BufferedWriter(out()));
    try {
      scenarioOptions.run(
          Path.of(requests.get(0)),
          json,
          total -> new ProgressLine(err(), context.terminals().error(), total),
          buffered);
    } catch (OutOfMemoryError e) {
      throw new InvalidInputException(
          "too many waiting items for the Java heap; try max_depth, or JAVA_TOOL_OPTIONS=-Xmx1g");
    }
    buffered.flush();
  }

  private void simulateLimit() {
    if (scenarioOptions.given()) {
      throw new InvalidInputException(
          "--set, --report and --no-report require a scenario, not a limit");
    }
    BucketSimulation simulation = simulation();
    try {
      simulation.run(new RequestInput(requests, file).read(context.input()));
    } catch (OutOfMemoryError e) {
      throw new InvalidInputException(
          "too many requests for the Java heap; try JAVA_TOOL_OPTIONS=-Xmx1g");
    }
    print(simulation);
  }

  private void print(BucketSimulation simulation) {
    // Not the command line's own writer: that one flushes at every line.
    PrintWriter buffered = new PrintWriter(new BufferedWriter(out()));
    if (json) {
      new BucketJsonReport(simulation, buffered).print();
    } else {
      new BucketTextReport(simulation, buffered).print();
    }
    buffered.flush();
  }

  private BucketSimulation simulation() {
    Limit limit = limitOptions.limit();
    try {
      return new BucketSimulation(limit, initial == null ? limit.capacity() : initial, waiting);
    } catch (IllegalArgumentException e) {
      throw new InvalidInputException(String.valueOf(e.getMessage()));
    }
  }
}
