package dev.sluice.cli.text;

import java.time.Duration;

/** Tokens per period, written {@code 10/1s}. */
public record RefillRate(long tokens, Duration period) {

  public static RefillRate parse(String text) {
    int slash = text.indexOf('/');
    if (slash < 0) {
      throw new InvalidInputException(
          "a refill must be TOKENS/PERIOD, such as 10/1s, but was " + Quoting.of(text));
    }
    long tokens = Numbers.parse("TOKENS", text.substring(0, slash));
    if (tokens == 0) {
      throw new InvalidInputException("a refill must be positive, but was " + Quoting.of(text));
    }
    return new RefillRate(tokens, parsePeriod(text.substring(slash + 1)));
  }

  public static Duration parsePeriod(String text) {
    long nanos = Durations.parseNanos(text);
    if (nanos == 0) {
      throw new InvalidInputException("a period must be positive, but was " + Quoting.of(text));
    }
    return Duration.ofNanos(nanos);
  }

  @Override
  public String toString() {
    return tokens + "/" + Durations.format(period.toNanos());
  }
}
