package dev.sluice.cli.simulate;

import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.Quoting;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Equal requests made at one instant, written {@code TIME:TOKENS} or {@code TIME:TOKENSxCOUNT}.
 *
 * @param timeNanos when, since the start
 * @param tokens the tokens that each of them requests
 * @param count how many there are
 */
record RequestBatch(long timeNanos, long tokens, int count) {
  /** Any number of so many digits fits an int. */
  private static final Pattern COUNT = Pattern.compile("[0-9]{1,9}");

  private static final Pattern SYNTAX = Pattern.compile("([^:]+):([^:x]+)(?:x([^:x]+))?");

  static RequestBatch parse(String text) {
    Matcher matcher = SYNTAX.matcher(text);
    if (!matcher.matches()) {
      throw new InvalidInputException(
          "a request is TIME:TOKENS or TIME:TOKENSxCOUNT, such as 200ms:5: " + Quoting.of(text));
    }
    long timeNanos = Durations.parseNanos(matcher.group(1));
    long tokens = Numbers.parse("TOKENS", matcher.group(2));
    String count = matcher.group(3);
    return new RequestBatch(timeNanos, tokens, count == null ? 1 : parseCount(count));
  }

  private static int parseCount(String text) {
    int count = COUNT.matcher(text).matches() ? Integer.parseInt(text) : 0;
    if (count == 0) {
      throw new InvalidInputException(
          "COUNT must be a whole number from 1 to "
              + RequestParser.MAX_COUNT
              + ", but was "
              + Quoting.of(text));
    }
    return count;
  }

  /** Returns the tokens of all requests together. */
  long totalTokens() {
    return tokens * count;
  }

  /** Returns the tokens as the user writes them. */
  String requested() {
    return count == 1 ? Long.toString(tokens) : tokens + "x" + count;
  }
}
