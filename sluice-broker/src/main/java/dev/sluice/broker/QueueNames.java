package dev.sluice.broker;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;

/** Checks of caller input; every message names the rule and the value that broke it. */
public final class QueueNames {
  /** The longest fairness key, throttle key, dedupe id or configuration key, in bytes of UTF-8. */
  public static final int MAX_KEY_BYTES = 256;

  /** The longest name of a queue, without the suffix of its dead letters. */
  static final int MAX_QUEUE_NAME = 128;

  private QueueNames() {}

  public static long requireBetween(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + most + ": " + name + "=" + value);
    }
    return value;
  }

  public static Duration requireDuration(
      String name, Duration value, Duration least, Duration most) {
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + most + ": " + name + "=" + value);
    }
    return value;
  }

  /** A fairness key, throttle key, dedupe id or configuration key. */
  public static String requireKey(String name, String value) {
    Objects.requireNonNull(value, name);
    if (value.isEmpty()) {
      throw new IllegalArgumentException(name + " must not be empty: " + name + "=\"\"");
    }
    if (!isText(value)) {
      throw new IllegalArgumentException(name + " must be valid Unicode: " + name + "=" + value);
    }
    // A char is at most three bytes, so most keys need not be encoded to be measured.
    if (value.length() * 3 > MAX_KEY_BYTES) {
      int bytes = value.getBytes(StandardCharsets.UTF_8).length;
      requireBetween("bytes of " + name, bytes, 1, MAX_KEY_BYTES);
    }
    return value;
  }

  /** Whether it can be stored and read again: no half of a surrogate pair. */
  private static boolean isText(String value) {
    return value.chars().noneMatch(c -> Character.isSurrogate((char) c))
        || StandardCharsets.UTF_8.newEncoder().canEncode(value);
  }

  /** Letters, digits and {@code . _ - : /}; the name goes into file-like paths and metrics. */
  static String requireQueueName(String name) {
    Objects.requireNonNull(name, "queue name");
    String base = DeadLetter.sourceOf(name);
    if (base.isEmpty() || base.length() > MAX_QUEUE_NAME || !isPlain(name)) {
      throw new IllegalArgumentException(
          "queue name must be 1 to "
              + MAX_QUEUE_NAME
              + " letters, digits or . _ - : / characters: name=\""
              + name
              + "\"");
    }
    requireInPaths("queue name", base);
    return name;
  }

  /** What is the name of something in paths of URLs, from which browsers and proxies take dots. */
  public static void requireInPaths(String what, String name) {
    if (name.equals(".") || name.equals("..")) {
      throw new IllegalArgumentException(
          what + " must not be . or .., which vanish from paths of URLs: \"" + name + "\"");
    }
  }

  private static boolean isPlain(String name) {
    return name.chars()
        .allMatch(c -> (c < 128 && Character.isLetterOrDigit(c)) || "._-:/".indexOf(c) >= 0);
  }
}
