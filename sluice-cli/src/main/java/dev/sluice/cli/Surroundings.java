package dev.sluice.cli;

import java.io.InputStream;
import java.util.function.Supplier;
import picocli.CommandLine.Help.Ansi;

/**
 * What a command meets outside, beside its output: replaced in tests.
 *
 * @param input the standard input
 * @param terminal whether somebody watches the standard output, so that a line may be rewritten
 * @param pacers makes the time by which a live command goes
 */
record Surroundings(InputStream input, boolean terminal, Supplier<Pacer> pacers) {
  static Surroundings ofProcess() {
    return new Surroundings(System.in, Ansi.AUTO.enabled(), SystemPacer::new);
  }
}
