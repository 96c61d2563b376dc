package dev.sluice.cli.text;

import java.math.BigDecimal;
import java.util.regex.Pattern;

/** Parses and formats numbers of options. */
public final class Numbers {
  /** A number of 18 digits fits a long. */
  private static final Pattern SYNTAX = Pattern.compile("[0-9]{1,18}");

  private static final Pattern DECIMAL = Pattern.compile("[0-9]{1,15}(\\.[0-9]{1,9})?");

  private Numbers() {}

  public static long parse(String name, String text) {
    if (!SYNTAX.matcher(text).matches()) {
      throw new InvalidInputException(
          name + " must be a whole number of at most 18 digits, but was " + Quoting.of(text));
    }
    return Long.parseLong(text);
  }

  public static int parseSmall(String name, String text) {
    long number = parse(name, text);
    if (number > Integer.MAX_VALUE) {
      throw new InvalidInputException(
          name + " must be at most " + Integer.MAX_VALUE + ", but was " + Quoting.of(text));
    }
    return (int) number;
  }

  public static double parseDecimal(String name, String text) {
    if (!DECIMAL.matcher(text).matches()) {
      throw new InvalidInputException(
          name + " must be a number such as 10 or 0.5, but was " + Quoting.of(text));
    }
    return Double.parseDouble(text);
  }

  /** Formats without trailing zeros. */
  public static String format(double number) {
    return new BigDecimal(Double.toString(number)).stripTrailingZeros().toPlainString();
  }
}
