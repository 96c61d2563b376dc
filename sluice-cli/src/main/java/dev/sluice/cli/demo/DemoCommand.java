package dev.sluice.cli.demo;

import dev.sluice.cli.runtime.BaseCommand;
import dev.sluice.cli.runtime.CommandContext;
import dev.sluice.cli.runtime.CommandTimer;
import dev.sluice.cli.runtime.ExitCodes;
import dev.sluice.cli.runtime.OptionConverters;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sluice demo}. */
@Command(
    name = "demo",
    description =
        "Show, in about a minute, that a server keeps its promises even when it is killed.",
    footer = {
      "",
      "Starts a server on a temporary directory. A noisy tenant floods a queue, a quiet",
      "one sends one message at a time, both under the limit of one provider. A model",
      "gets requests for five times its budget. Halfway the server is killed and started",
      "again. Then the demo prints the figures, and the server keeps running so that you",
      "can look at its console.",
      "",
      "Exits after the figures with --exit, with --json, or if standard input is not a",
      "terminal. Exits with 1 if a message was lost, a limit was exceeded, or the quiet",
      "tenant's p99 wait was not 20 times shorter than in one FIFO."
    })
public final class DemoCommand extends BaseCommand {
  private static final int HTTP_PORT = 8080;
  private static final int GRPC_PORT = 5555;

  private final CommandContext context;

  @Option(names = "--quick", description = "Take less than 30 seconds.")
  private boolean quick;

  @Option(names = "--exit", description = "Exit after the figures.")
  private boolean exit;

  @Option(names = "--json", description = "Print the figures as one JSON object, and exit.")
  private boolean json;

  @Option(
      names = "--http-port",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The port of the console; 0 for any. Default: 8080, or any if that is in use.")
  private @Nullable Long httpPort;

  @Option(
      names = "--grpc-port",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The port for clients; 0 for any. Default: 5555, or any if that is in use.")
  private @Nullable Long grpcPort;

  public DemoCommand(CommandContext context) {
    this.context = context;
  }

  @Override
  public Integer call() {
    try (CommandTimer timer = context.timers().get()) {
      DemoServer.Ports ports =
          new DemoServer.Ports(
              DemoServer.Ports.choose("--http-port", httpPort, HTTP_PORT),
              DemoServer.Ports.choose("--grpc-port", grpcPort, GRPC_PORT));
      try (DemoServer server = DemoServer.create(ports, DemoModelCallers.BUDGETS)) {
        return run(server, timer);
      }
    }
  }

  private int run(DemoServer server, CommandTimer timer) {
    say("Starting a server on a temporary directory, console " + server.console() + " ...");
    Optional<DemoResult> figures = server.start() ? play(server, timer) : Optional.empty();
    if (figures.isEmpty()) {
      return ExitCodes.FAILED;
    }
    if (json) {
      out().println(DemoJsonReport.of(figures.get(), quick));
      out().flush();
    } else {
      DemoTextReport.print(figures.get(), out());
      if (!exit && context.terminals().input()) {
        say("console: " + server.console() + " - Ctrl-C to end");
        DemoTraffic.play(server, timer);
      }
    }
    return figures.get().problems().isEmpty() ? ExitCodes.OK : ExitCodes.FAILED;
  }

  private Optional<DemoResult> play(DemoServer server, CommandTimer timer) {
    try (DemoView view = view(server)) {
      return new DemoRunner(quick ? DemoScenario.QUICK : DemoScenario.FULL, server, timer, view)
          .play();
    }
  }

  private DemoView view(DemoServer server) {
    if (json) {
      return DemoView.NONE;
    }
    return context.terminal()
        ? new DemoScreenView(out(), context, server.console())
        : new DemoLineView(out());
  }

  private void say(String line) {
    if (!json) {
      out().println(line);
      out().flush();
    }
  }
}
