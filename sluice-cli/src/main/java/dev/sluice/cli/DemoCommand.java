package dev.sluice.cli;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sluice demo}. */
@Command(
    name = "demo",
    description = "Watch a server keep its promises, also when it is killed: about a minute.",
    footer = {
      "",
      "Starts a server on a temporary directory. A noisy tenant floods a queue, a quiet",
      "one sends one message at a time, both under the limit of one provider; a model",
      "is asked for five times its budget; half-way the server is killed and started",
      "again. Then come the figures, and the server stays for you to look at its",
      "console.",
      "",
      "It ends after the figures with --exit, with --json, and where nobody sits at the",
      "standard input. Exits with 1 if a message was lost, a limit was exceeded, or the",
      "quiet tenant's p99 wait was not 20 times shorter than in one FIFO."
    })
final class DemoCommand extends Action {
  private static final int HTTP_PORT = 8080;
  private static final int GRPC_PORT = 5555;

  private final Surroundings surroundings;

  @Option(names = "--quick", description = "In less than 30 seconds.")
  private boolean quick;

  @Option(names = "--exit", description = "End after the figures.")
  private boolean exit;

  @Option(names = "--json", description = "Print the figures as one JSON object, and end.")
  private boolean json;

  @Option(
      names = "--http-port",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "Where the console is; 0 for any. Default: 8080, or any if that is in use.")
  private @Nullable Long httpPort;

  @Option(
      names = "--grpc-port",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "Where clients connect; 0 for any. Default: 5555, or any if that is in use.")
  private @Nullable Long grpcPort;

  DemoCommand(Surroundings surroundings) {
    this.surroundings = surroundings;
  }

  @Override
  public Integer call() {
    try (Pacer pacer = surroundings.pacers().get()) {
      DemoServer.Ports ports =
          new DemoServer.Ports(
              DemoServer.Ports.choose("--http-port", httpPort, HTTP_PORT),
              DemoServer.Ports.choose("--grpc-port", grpcPort, GRPC_PORT));
      try (DemoServer server = DemoServer.create(ports, DemoCalls.BUDGETS)) {
        return run(server, pacer);
      }
    }
  }

  private int run(DemoServer server, Pacer pacer) {
    say("Starting a server on a temporary directory, console " + server.console() + " ...");
    Optional<DemoFigures> figures = server.start() ? play(server, pacer) : Optional.empty();
    if (figures.isEmpty()) {
      return ExitCodes.FAILED;
    }
    if (json) {
      out().println(DemoJson.of(figures.get(), quick));
      out().flush();
    } else {
      DemoText.print(figures.get(), out());
      if (!exit && surroundings.terminals().input()) {
        say("console: " + server.console() + " - Ctrl-C to end");
        DemoBackground.play(server, pacer);
      }
    }
    return figures.get().problems().isEmpty() ? ExitCodes.OK : ExitCodes.FAILED;
  }

  private Optional<DemoFigures> play(DemoServer server, Pacer pacer) {
    try (DemoView view = view(server)) {
      return new Demo(quick ? DemoScenario.QUICK : DemoScenario.FULL, server, pacer, view).play();
    }
  }

  private DemoView view(DemoServer server) {
    if (json) {
      return DemoView.NONE;
    }
    return surroundings.terminal()
        ? new DemoScreen(out(), surroundings, server.console())
        : new DemoLines(out());
  }

  private void say(String line) {
    if (!json) {
      out().println(line);
      out().flush();
    }
  }
}
