package dev.sluice.internal.util;

import java.util.Objects;

/** Checks of caller input; every message names the rule and the value that broke it. */
public final class Preconditions {
  private Preconditions() {}

  public static String requireNonEmpty(String name, String value) {
    if (Objects.requireNonNull(value, name).isEmpty()) {
      throw new IllegalArgumentException(name + " must not be empty: " + name + "=\"\"");
    }
    return value;
  }

  public static long requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " must be positive: " + name + "=" + value);
    }
    return value;
  }

  public static long requireNonNegative(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + " must not be negative: " + name + "=" + value);
    }
    return value;
  }

  public static int requireBetween(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + most + ": " + name + "=" + value);
    }
    return value;
  }

  public static long requireAtMost(String name, long value, long most) {
    if (value > most) {
      throw new IllegalArgumentException(
          name + " must be at most " + most + ": " + name + "=" + value);
    }
    return value;
  }
}
