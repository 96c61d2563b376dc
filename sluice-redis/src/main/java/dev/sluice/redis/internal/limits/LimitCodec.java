package dev.sluice.redis.internal.limits;

import dev.sluice.Limit;
import java.time.Duration;

/** Limits as they are kept in Redis: a word for the kind, then its numbers. */
final class LimitCodec {
  private LimitCodec() {}

  static String write(Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      return "balanced %d %d %d"
          .formatted(
              balanced.capacity(), balanced.refillTokens(), balanced.refillPeriod().toNanos());
    }
    if (limit instanceof Limit.Rate rate) {
      return "rate " + rate.perSecond() + " " + rate.burst();
    }
    if (limit instanceof Limit.Strict strict) {
      return "strict %d %d".formatted(strict.capacity(), strict.period().toNanos());
    }
    return limit instanceof Limit.Manual manual ? "manual " + manual.capacity() : "deny";
  }

  /**
   * The limit that was written.
   *
   * @throws IllegalArgumentException if it was written by something else
   */
  static Limit read(String text) {
    String[] words = text.split(" ", -1);
    try {
      return switch (words[0]) {
        case "balanced" -> new Limit.Balanced(number(words[1]), number(words[2]), nanos(words[3]));
        case "rate" -> new Limit.Rate(Double.parseDouble(words[1]), Double.parseDouble(words[2]));
        case "strict" -> new Limit.Strict(number(words[1]), nanos(words[2]));
        case "manual" -> new Limit.Manual(number(words[1]));
        case "deny" -> new Limit.DenyAll();
        default -> throw new IllegalArgumentException("a limit of unknown kind: " + text);
      };
    } catch (ArrayIndexOutOfBoundsException tooShort) {
      throw new IllegalArgumentException("a limit without all its numbers: " + text, tooShort);
    }
  }

  private static long number(String word) {
    return Long.parseLong(word);
  }

  private static Duration nanos(String word) {
    return Duration.ofNanos(Long.parseLong(word));
  }
}
