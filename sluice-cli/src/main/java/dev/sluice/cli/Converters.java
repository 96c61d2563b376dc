package dev.sluice.cli;

import java.time.Duration;
import java.util.function.Supplier;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** From an option's text to its value; picocli puts the option's name before the message. */
final class Converters {
  private Converters() {}

  /** A number of tokens or seconds. */
  static final class WholeNumberConverter implements ITypeConverter<Long> {
    @Override
    public Long convert(String text) {
      return converted(() -> WholeNumbers.parse("it", text));
    }
  }

  /** A period, such as {@code 1.5s}. */
  static final class PeriodConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      return converted(() -> Refill.parsePeriod(text));
    }
  }

  /** A number that fits an int. */
  static final class SmallNumberConverter implements ITypeConverter<Integer> {
    @Override
    public Integer convert(String text) {
      return converted(() -> WholeNumbers.parseSmall("it", text));
    }
  }

  /** A number with decimals, such as {@code 0.5}. */
  static final class DecimalConverter implements ITypeConverter<Double> {
    @Override
    public Double convert(String text) {
      return converted(() -> WholeNumbers.parseDecimal("it", text));
    }
  }

  /** A duration of whole milliseconds, which may be zero. */
  static final class DurationConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      return converted(() -> Durations.parseMillis(text));
    }
  }

  /** Tokens per period, such as {@code 10/1s}. */
  static final class RefillConverter implements ITypeConverter<Refill> {
    @Override
    public Refill convert(String text) {
      return converted(() -> Refill.parse(text));
    }
  }

  private static <T> T converted(Supplier<T> parser) {
    try {
      return parser.get();
    } catch (InvalidInputException e) {
      throw new TypeConversionException(e.getMessage());
    }
  }
}
