package dev.sluice.cli.simulate;

import dev.sluice.Limit;
import dev.sluice.cli.runtime.OptionConverters;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.RefillRate;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Option;

/** The options that make up a limit. */
final class LimitOptions {
  @Option(
      names = "--capacity",
      paramLabel = "N",
      converter = OptionConverters.WholeNumberConverter.class,
      description = "The most tokens the bucket holds. Default: TOKENS of --refill.")
  private @Nullable Long capacity;

  @ArgGroup(exclusive = true, multiplicity = "0..1")
  private @Nullable Source source;

  /** The refill mode; exactly one of these options is given. */
  static final class Source {
    @Option(
        names = "--refill",
        paramLabel = "TOKENS/PERIOD",
        converter = OptionConverters.RefillConverter.class,
        description = "Tokens accrue evenly, such as 10/1s, 100/1m or 3/7s.")
    private @Nullable RefillRate refill;

    @Option(
        names = "--strict",
        paramLabel = "PERIOD",
        converter = OptionConverters.PeriodConverter.class,
        description = "All tokens are refilled at the end of each period.")
    private @Nullable Duration strict;

    @Option(names = "--manual", description = "No token ever comes back by itself.")
    boolean manual;
  }

  /** Returns whether an option of the limit was given. */
  boolean given() {
    return capacity != null || source != null;
  }

  /** The limit they describe. */
  Limit limit() {
    if (source == null) {
      throw new InvalidInputException(
          "a limit needs one of --refill=TOKENS/PERIOD, --strict=PERIOD and --manual");
    }
    try {
      return source.refill == null ? unrefilled(source.strict) : balanced(source.refill);
    } catch (IllegalArgumentException e) {
      throw new InvalidInputException(String.valueOf(e.getMessage()));
    }
  }

  private Limit balanced(RefillRate refill) {
    long most = capacity == null ? refill.tokens() : capacity;
    return new Limit.Balanced(most, refill.tokens(), refill.period());
  }

  private Limit unrefilled(@Nullable Duration strict) {
    if (capacity == null) {
      throw new InvalidInputException("--capacity is required with --strict and --manual");
    }
    return strict == null ? new Limit.Manual(capacity) : new Limit.Strict(capacity, strict);
  }
}
