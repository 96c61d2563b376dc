package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import java.time.Duration;

/** Buckets whose clock stands still: what happens in these tests is a matter of order alone. */
final class Buckets {
  private Buckets() {}

  static TokenBucket balanced(long capacity, long initialTokens) {
    return of(perSecond(capacity), initialTokens);
  }

  static TokenBucket manual(long capacity, long initialTokens) {
    return of(new Limit.Manual(capacity), initialTokens);
  }

  static TokenBucket of(Limit limit, long initialTokens) {
    return TokenBucket.builder().limit(limit).initialTokens(initialTokens).clock(() -> 0).build();
  }

  static Limit perSecond(long capacity) {
    return new Limit.Balanced(capacity, 1, Duration.ofSeconds(1));
  }

  /** Takes {@code tokens}: how many were granted, all or none. */
  static int take(TokenBucket bucket, int tokens) {
    return bucket.tryConsume(tokens) ? tokens : 0;
  }
}
