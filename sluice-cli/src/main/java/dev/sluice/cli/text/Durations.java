package dev.sluice.cli.text;

import dev.sluice.Limit;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/** Parses and formats durations such as {@code 1.5s}, exact to the nanosecond. */
public final class Durations {
  public static final long SECOND = 1_000_000_000L;

  private static final Pattern SYNTAX =
      Pattern.compile("([0-9]{1,19}(?:\\.[0-9]{1,19})?)(ns|us|ms|s|m|h|d)");

  /** A unit of time. */
  public enum Unit {
    D("d", 86_400_000_000_000L),
    H("h", 3_600_000_000_000L),
    M("m", 60_000_000_000L),
    S("s", 1_000_000_000),
    MS("ms", 1_000_000),
    US("us", 1_000),
    NS("ns", 1);

    private final String symbol;
    private final long nanos;

    Unit(String symbol, long nanos) {
      this.symbol = symbol;
      this.nanos = nanos;
    }

    static Unit of(String symbol) {
      return Unit.valueOf(symbol.toUpperCase(Locale.ROOT));
    }

    /**
     * Formats {@code nanos} in this unit, with all decimals; D, H and M only take whole amounts.
     */
    public String format(long nanos) {
      if (nanos % this.nanos == 0) {
        return nanos / this.nanos + symbol;
      }
      BigDecimal amount = BigDecimal.valueOf(nanos).divide(BigDecimal.valueOf(this.nanos));
      return amount.stripTrailingZeros().toPlainString() + symbol;
    }
  }

  private static final List<Unit> LONG_UNITS = List.of(Unit.D, Unit.H, Unit.M);
  private static final List<Unit> DECIMAL_UNITS = List.of(Unit.S, Unit.MS, Unit.US, Unit.NS);

  private Durations() {}

  public static long parseNanos(String text) {
    Matcher matcher = SYNTAX.matcher(text);
    if (!matcher.matches()) {
      throw new InvalidInputException(
          "a duration must be a number with the unit ns, us, ms, s, m, h or d, such as 1.5s, but was "
              + Quoting.of(text));
    }
    BigDecimal unit = BigDecimal.valueOf(Unit.of(matcher.group(2)).nanos);
    BigDecimal nanos = new BigDecimal(matcher.group(1)).multiply(unit);
    if (nanos.compareTo(BigDecimal.valueOf(Limit.MAX_PERIOD.toNanos())) > 0) {
      throw new InvalidInputException(
          "a duration must be at most 146 years, but was " + Quoting.of(text));
    }
    if (nanos.setScale(0, RoundingMode.DOWN).compareTo(nanos) != 0) {
      throw new InvalidInputException(
          "a duration must be a whole number of nanoseconds, but was " + Quoting.of(text));
    }
    return nanos.longValueExact();
  }

  /** Parses a duration of whole milliseconds, as servers take it. */
  public static Duration parseMillis(String text) {
    Duration duration = Duration.ofNanos(parseNanos(text));
    if (duration.toNanosPart() % Unit.MS.nanos != 0) {
      throw new InvalidInputException(
          "a duration must be whole milliseconds here, but was " + Quoting.of(text));
    }
    return duration;
  }

  /** Formats in the most readable unit; {@link #parseNanos} is the inverse. */
  public static String format(long nanos) {
    for (Unit unit : LONG_UNITS) {
      if (nanos >= unit.nanos && nanos % unit.nanos == 0) {
        return unit.format(nanos);
      }
    }
    for (Unit unit : DECIMAL_UNITS) {
      if (nanos >= unit.nanos) {
        return unit.format(nanos);
      }
    }
    return "0s";
  }

  /** Returns the largest of s, ms, us and ns of which all are multiples. */
  public static Unit commonUnit(LongStream nanos) {
    long[] all = nanos.toArray();
    return DECIMAL_UNITS.stream()
        .filter(unit -> LongStream.of(all).allMatch(n -> n % unit.nanos == 0))
        .findFirst()
        .orElse(Unit.NS);
  }
}
