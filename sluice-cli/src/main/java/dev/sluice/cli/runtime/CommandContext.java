package dev.sluice.cli.runtime;

import java.io.InputStream;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The environment of a command except its output. Tests replace it.
 *
 * @param input the standard input
 * @param terminals which standard streams are terminals
 * @param environment the environment variables
 * @param timers creates the clock and timer of a live command
 */
public record CommandContext(
    InputStream input,
    TerminalInfo terminals,
    Map<String, String> environment,
    Supplier<CommandTimer> timers) {
  public static CommandContext ofProcess() {
    return new CommandContext(
        System.in, TerminalInfo.ofProcess(), System.getenv(), SystemCommandTimer::new);
  }

  /** Returns whether the standard output is a terminal whose lines can be rewritten. */
  public boolean terminal() {
    return terminals.output();
  }
}
