package dev.sluice.governor;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A provider with a limit of its own, kept in floating point and apart from all that is tested. It
 * takes a call by what it asks for, or refuses it, and gives back what it did not use at its end.
 */
final class MockProvider {
  private static final double SECOND_NANOS = 1e9;
  private static final Instant EPOCH = Instant.parse("2026-11-16T10:00:00Z");

  /** The headers with its limits. */
  enum Headers {
    NONE,
    OPENAI,
    ANTHROPIC,
    /** As OpenAI's; others use up the rest of the limit that they name. */
    OPENAI_SHARED
  }

  private final Headers headers;
  private final double tokensPerMinute;
  private final double capacity;
  private double level;
  private long at;

  MockProvider(Headers headers, double tokensPerMinute, double capacity) {
    this.headers = headers;
    this.tokensPerMinute = tokensPerMinute;
    this.capacity = capacity;
    this.level = capacity;
  }

  /** Status 200 or 429; the headers are of this moment, however long the call takes. */
  ProviderResponse call(long tokens, long now) {
    refill(now);
    boolean taken = level >= tokens;
    if (taken) {
      level -= tokens;
    }
    Map<String, String> said = new LinkedHashMap<>();
    double fullInSeconds = (capacity - level) / tokensPerMinute * 60;
    long left = (long) level;
    long limit = (long) (tokensPerMinute * (headers == Headers.OPENAI_SHARED ? 2 : 1));
    if (headers == Headers.OPENAI || headers == Headers.OPENAI_SHARED) {
      said.put("x-ratelimit-limit-tokens", Long.toString(limit));
      said.put("x-ratelimit-remaining-tokens", Long.toString(left));
      said.put(
          "x-ratelimit-reset-tokens",
          "%dm%.3fs"
              .formatted(
                  (long) fullInSeconds / 60, fullInSeconds - (long) fullInSeconds / 60 * 60));
    } else if (headers == Headers.ANTHROPIC) {
      // To the nearest thousand, as documented.
      said.put("anthropic-ratelimit-tokens-limit", Long.toString(limit));
      said.put("anthropic-ratelimit-tokens-remaining", Long.toString((left + 500) / 1_000 * 1_000));
      said.put(
          "anthropic-ratelimit-tokens-reset",
          EPOCH.plusNanos(now).plusMillis((long) (fullInSeconds * 1_000)).toString());
    }
    if (!taken && headers != Headers.NONE) {
      double wait = (tokens - level) / tokensPerMinute * 60;
      said.put("retry-after", Long.toString((long) Math.ceil(wait)));
    }
    return new ProviderResponse(taken ? 200 : 429, said);
  }

  void ended(long unused, long now) {
    refill(now);
    level = Math.min(capacity, level + unused);
  }

  private void refill(long now) {
    level = Math.min(capacity, level + (now - at) / SECOND_NANOS * tokensPerMinute / 60);
    at = now;
  }
}
