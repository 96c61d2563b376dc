package dev.sluice.cli.text;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Locale;

/** Formats numbers for people. NaN becomes a dash. */
public final class FigureFormat {
  static final String NONE = "-";

  private static final int MINUTE = 60;
  private static final int HOUR = 3_600;
  private static final double MILLI = 0.001;
  private static final MathContext DIGITS = new MathContext(4);

  private FigureFormat() {}

  public static String count(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  public static String percent(double part) {
    return Double.isNaN(part) ? NONE : String.format(Locale.ROOT, "%.1f %%", 100 * part);
  }

  /** Formats seconds in the most readable unit, to about three digits. */
  public static String seconds(double seconds) {
    if (Double.isNaN(seconds)) {
      return NONE;
    }
    if (seconds < MILLI) {
      return seconds == 0 ? "0 s" : "<1 ms";
    }
    if (seconds < 1) {
      return String.format(Locale.ROOT, "%.0f ms", seconds / MILLI);
    }
    if (seconds < MINUTE) {
      return String.format(Locale.ROOT, seconds < 10 ? "%.2f s" : "%.1f s", seconds);
    }
    long whole = Math.round(seconds);
    return whole < HOUR
        ? String.format(Locale.ROOT, "%d m %02d s", whole / MINUTE, whole % MINUTE)
        : String.format(Locale.ROOT, "%d h %02d m", whole / HOUR, whole % HOUR / MINUTE);
  }

  /** Formats for programs: four digits, no exponent; empty for NaN. */
  public static String plain(double number) {
    return Double.isNaN(number)
        ? ""
        : new BigDecimal(number).round(DIGITS).stripTrailingZeros().toPlainString();
  }

  /** Formats with up to two decimals, without trailing zeros. */
  public static String decimal(double number) {
    return String.format(Locale.ROOT, "%,.2f", number).replaceFirst("\\.?0+$", "");
  }
}
