package dev.sluice;

/** Checks of caller input; every message names the rule and the value that broke it. */
final class Preconditions {
  private Preconditions() {}

  static long requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " must be positive: " + name + "=" + value);
    }
    return value;
  }

  static long requireNonNegative(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + " must not be negative: " + name + "=" + value);
    }
    return value;
  }

  static long requireAtMost(String name, long value, long most) {
    if (value > most) {
      throw new IllegalArgumentException(
          name + " must be at most " + most + ": " + name + "=" + value);
    }
    return value;
  }
}
