package dev.sluice.cli.commands;

import dev.sluice.Limit;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.InvalidInputException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a limit: a rate and a burst. */
final class RateOptions {
  @Option(
      names = "--rate",
      required = true,
      paramLabel = "N",
      converter = OptionConverters.DecimalConverter.class,
      description = "Tokens per second, such as 5 or 0.5.")
  private double rate;

  @Option(
      names = "--burst",
      paramLabel = "N",
      converter = OptionConverters.DecimalConverter.class,
      description = "The most tokens at once, at least 1. Default: --rate, but at least 1.")
  private @Nullable Double burst;

  Limit.Rate limit() {
    try {
      return new Limit.Rate(rate, burst == null ? Math.max(1, rate) : burst);
    } catch (IllegalArgumentException invalid) {
      throw new InvalidInputException("--rate or --burst: " + invalid.getMessage());
    }
  }
}
