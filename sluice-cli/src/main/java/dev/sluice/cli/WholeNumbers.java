package dev.sluice.cli;

import java.util.regex.Pattern;

/** Numbers of things, as users write them. */
final class WholeNumbers {
  /** Any number of so many digits fits a long. */
  private static final Pattern SYNTAX = Pattern.compile("[0-9]{1,18}");

  private WholeNumbers() {}

  static long parse(String name, String text) {
    if (!SYNTAX.matcher(text).matches()) {
      throw new InvalidInputException(
          name + " must be a whole number of at most 18 digits: " + Quoted.of(text));
    }
    return Long.parseLong(text);
  }
}
