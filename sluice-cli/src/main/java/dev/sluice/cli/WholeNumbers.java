package dev.sluice.cli;

import java.math.BigDecimal;
import java.util.regex.Pattern;

/** Numbers of things, as users write them. */
final class WholeNumbers {
  /** Any number of so many digits fits a long. */
  private static final Pattern SYNTAX = Pattern.compile("[0-9]{1,18}");

  private static final Pattern DECIMAL = Pattern.compile("[0-9]{1,15}(\\.[0-9]{1,9})?");

  private WholeNumbers() {}

  static long parse(String name, String text) {
    if (!SYNTAX.matcher(text).matches()) {
      throw new InvalidInputException(
          name + " must be a whole number of at most 18 digits: " + Quoted.of(text));
    }
    return Long.parseLong(text);
  }

  static int parseSmall(String name, String text) {
    long number = parse(name, text);
    if (number > Integer.MAX_VALUE) {
      throw new InvalidInputException(
          name + " must be at most " + Integer.MAX_VALUE + ": " + Quoted.of(text));
    }
    return (int) number;
  }

  static double parseDecimal(String name, String text) {
    if (!DECIMAL.matcher(text).matches()) {
      throw new InvalidInputException(
          name + " must be a number such as 10 or 0.5: " + Quoted.of(text));
    }
    return Double.parseDouble(text);
  }

  /** Without decimals that say nothing. */
  static String format(double number) {
    return new BigDecimal(Double.toString(number)).stripTrailingZeros().toPlainString();
  }
}
