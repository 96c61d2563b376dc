package dev.sluice.governor;

import java.time.Duration;

/** Rules for values, whose breach names the rule and the value. */
public final class Checks {
  private Checks() {}

  public static void between(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be from %d to %d: %d".formatted(name, least, most, value));
    }
  }

  public static void between(String name, Duration value, Duration least, Duration most) {
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          "%s must be from %s to %s: %s".formatted(name, least, most, value));
    }
  }

  /** A part of something, not nothing. */
  static void share(String name, double share) {
    // Also false for what is no number.
    if (!(share > 0 && share <= 1)) {
      throw new IllegalArgumentException(name + " must be above 0 and at most 1: " + share);
    }
  }
}
