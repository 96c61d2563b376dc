package dev.sluice.cli.runtime;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.RefillRate;
import java.time.Duration;
import java.util.function.Supplier;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the text of options; picocli puts the option's name before error messages. */
public final class OptionConverters {
  private OptionConverters() {}

  /** Converts a whole number. */
  public static final class WholeNumberConverter implements ITypeConverter<Long> {
    @Override
    public Long convert(String text) {
      return converted(() -> Numbers.parse("it", text));
    }
  }

  /** Converts a positive duration, such as {@code 1.5s}. */
  public static final class PeriodConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      return converted(() -> RefillRate.parsePeriod(text));
    }
  }

  /** Converts a whole number that fits an int. */
  public static final class SmallNumberConverter implements ITypeConverter<Integer> {
    @Override
    public Integer convert(String text) {
      return converted(() -> Numbers.parseSmall("it", text));
    }
  }

  /** Converts a decimal number, such as {@code 0.5}. */
  public static final class DecimalConverter implements ITypeConverter<Double> {
    @Override
    public Double convert(String text) {
      return converted(() -> Numbers.parseDecimal("it", text));
    }
  }

  /** Converts a duration of whole milliseconds, which may be zero. */
  public static final class DurationConverter implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      return converted(() -> Durations.parseMillis(text));
    }
  }

  /** Converts tokens per period, such as {@code 10/1s}. */
  public static final class RefillConverter implements ITypeConverter<RefillRate> {
    @Override
    public RefillRate convert(String text) {
      return converted(() -> RefillRate.parse(text));
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
