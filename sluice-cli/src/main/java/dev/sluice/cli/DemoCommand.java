package dev.sluice.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Option;

/** {@code sluice demo}. */
@Command(
    name = "demo",
    description = "Show a bucket at work: three callers, live, and a limit raised half-way.",
    footer = {"", "Exits with 1 if more was granted than the limit allows."})
final class DemoCommand extends Action {
  private static final int MAX_SECONDS = 3600;

  private final Surroundings surroundings;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      converter = Converters.WholeNumberConverter.class,
      description = "How long, from 1 to 3600. Default: 10.")
  private long seconds = 10;

  @Option(names = "--json", description = "Print a JSON object per second, and one at the end.")
  private boolean json;

  DemoCommand(Surroundings surroundings) {
    this.surroundings = surroundings;
  }

  @Override
  public Integer call() {
    if (seconds < 1 || seconds > MAX_SECONDS) {
      throw new InvalidInputException(
          "--seconds must be from 1 to " + MAX_SECONDS + ": " + seconds);
    }
    DemoView view = json ? new DemoJson(out()) : new DemoText(out(), surroundings.terminal());
    try (Pacer pacer = surroundings.pacers().get()) {
      return new Demo(pacer, view).run((int) seconds) ? ExitCode.OK : ExitCode.SOFTWARE;
    }
  }
}
