package dev.sluice.cli;

import java.time.Duration;

/** Tokens per period, written {@code 10/1s}. */
record Refill(long tokens, Duration period) {

  static Refill parse(String text) {
    int slash = text.indexOf('/');
    if (slash < 0) {
      throw new InvalidInputException(
          "a refill is TOKENS/PERIOD, such as 10/1s: " + Quoted.of(text));
    }
    long tokens = WholeNumbers.parse("TOKENS", text.substring(0, slash));
    if (tokens == 0) {
      throw new InvalidInputException("a refill must be positive: " + Quoted.of(text));
    }
    return new Refill(tokens, parsePeriod(text.substring(slash + 1)));
  }

  static Duration parsePeriod(String text) {
    long nanos = Durations.parseNanos(text);
    if (nanos == 0) {
      throw new InvalidInputException("a period must be positive: " + Quoted.of(text));
    }
    return Duration.ofNanos(nanos);
  }

  @Override
  public String toString() {
    return tokens + "/" + Durations.format(period.toNanos());
  }
}
