package dev.sluice.internal.util;

import java.time.Duration;
import java.util.Objects;

/** Checks of caller input; every message names the rule and the value that broke it. */
public final class Preconditions {
  private Preconditions() {}

  public static String requireNonEmpty(String name, String value) {
    if (Objects.requireNonNull(value, name).isEmpty()) {
      throw new IllegalArgumentException(name + " must not be empty");
    }
    return value;
  }

  public static long requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " must be positive, but was " + value);
    }
    return value;
  }

  public static long requireNonNegative(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + " must not be negative, but was " + value);
    }
    return value;
  }

  public static int requireBetween(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + most + ", but was " + value);
    }
    return value;
  }

  public static long requireAtMost(String name, long value, long most) {
    if (value > most) {
      throw new IllegalArgumentException(name + " must be at most " + most + ", but was " + value);
    }
    return value;
  }

  public static long requireBetween(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be from %d to %d, but was %d".formatted(name, least, most, value));
    }
    return value;
  }

  public static Duration requireBetween(
      String name, Duration value, Duration least, Duration most) {
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          "%s must be from %s to %s, but was %s".formatted(name, least, most, value));
    }
    return value;
  }
}
