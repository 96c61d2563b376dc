package dev.sluice.cli.runtime;

import java.io.InputStream;
import java.util.Map;
import java.util.function.Supplier;

/**
 * What a command meets outside, beside its output: replaced in tests.
 *
 * @param input the standard input
 * @param terminals behind which streams somebody sits
 * @param environment the environment variables
 * @param pacers makes the time by which a live command goes
 */
public record CommandContext(
    InputStream input,
    TerminalInfo terminals,
    Map<String, String> environment,
    Supplier<CommandTimer> pacers) {
  public static CommandContext ofProcess() {
    return new CommandContext(
        System.in, TerminalInfo.ofProcess(), System.getenv(), SystemCommandTimer::new);
  }

  /** Whether somebody watches the standard output, so that a line may be rewritten. */
  public boolean terminal() {
    return terminals.output();
  }
}
