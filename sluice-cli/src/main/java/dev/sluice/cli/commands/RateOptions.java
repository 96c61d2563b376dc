package dev.sluice.cli.commands;

import dev.sluice.cli.runtime.OptionConverters;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How fast tokens come back, and how many there can be. */
final class RateOptions {
  @Option(
      names = "--rate",
      required = true,
      paramLabel = "N",
      converter = OptionConverters.DecimalConverter.class,
      description = "Tokens that come back each second, such as 5 or 0.5.")
  private double rate;

  @Option(
      names = "--burst",
      paramLabel = "N",
      converter = OptionConverters.DecimalConverter.class,
      description = "The most tokens at a time, at least 1. Default: --rate, or 1.")
  private @Nullable Double burst;

  double rate() {
    return rate;
  }

  double burst() {
    return burst == null ? Math.max(1, rate) : burst;
  }
}
