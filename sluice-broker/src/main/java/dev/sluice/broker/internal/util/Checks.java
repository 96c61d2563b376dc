package dev.sluice.broker.internal.util;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;

/** Checks values that callers give; every error message names the rule and the value. */
public final class Checks {
  /** The longest fairness key, throttle key, dedupe id or configuration key, in bytes of UTF-8. */
  public static final int MAX_KEY_BYTES = 256;

  private Checks() {}

  /**
   * Returns {@code value}.
   *
   * @throws IllegalArgumentException if it is out of range
   */
  public static long requireBetween(String name, long value, long least, long max) {
    if (value < least || value > max) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + max + ", but was " + value);
    }
    return value;
  }

  /**
   * Returns {@code value}.
   *
   * @throws IllegalArgumentException if it is out of range
   */
  public static Duration requireDuration(
      String name, Duration value, Duration least, Duration max) {
    if (value.compareTo(least) < 0 || value.compareTo(max) > 0) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + max + ", but was " + value);
    }
    return value;
  }

  /**
   * Returns {@code value}, a fairness key, throttle key, dedupe id or configuration key.
   *
   * @throws IllegalArgumentException if it is empty, too long or no valid Unicode
   */
  public static String requireKey(String name, String value) {
    Objects.requireNonNull(value, name);
    if (value.isEmpty()) {
      throw new IllegalArgumentException(name + " must not be empty");
    }
    if (!isText(value)) {
      throw new IllegalArgumentException(name + " must be valid Unicode, but was " + value);
    }
    // A char is at most three bytes, so most keys need not be encoded to be measured.
    if (value.length() * 3 > MAX_KEY_BYTES) {
      int bytes = value.getBytes(StandardCharsets.UTF_8).length;
      requireBetween("bytes of " + name, bytes, 1, MAX_KEY_BYTES);
    }
    return value;
  }

  /** Returns whether UTF-8 can express the text: it has no half of a surrogate pair. */
  private static boolean isText(String value) {
    return value.chars().noneMatch(c -> Character.isSurrogate((char) c))
        || StandardCharsets.UTF_8.newEncoder().canEncode(value);
  }

  /**
   * Checks a name that is a part of URLs.
   *
   * @throws IllegalArgumentException if it is {@code .} or {@code ..}, which browsers and proxies
   *     remove from paths
   */
  public static void requireInPaths(String what, String name) {
    if (name.equals(".") || name.equals("..")) {
      throw new IllegalArgumentException(
          what + " must not be . or .., which vanish from paths of URLs, but was \"" + name + "\"");
    }
  }
}
