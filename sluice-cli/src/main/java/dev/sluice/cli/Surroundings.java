package dev.sluice.cli;

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
record Surroundings(
    InputStream input,
    Terminals terminals,
    Map<String, String> environment,
    Supplier<Pacer> pacers) {
  static Surroundings ofProcess() {
    return new Surroundings(System.in, Terminals.ofProcess(), System.getenv(), SystemPacer::new);
  }

  /** Whether somebody watches the standard output, so that a line may be rewritten. */
  boolean terminal() {
    return terminals.output();
  }
}
