package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.TokenBucket;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.ConsumptionProbe;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** docs/recipes/from-bucket4j.md: before and after, which answer alike. */
final class FromBucket4jTest {
  private final Replies replies = new Replies();

  @Test
  void decide_replacesConsumptionProbe() throws Exception {
    probeBefore(replies);
    probeAfter(replies);
    // Bucket4j counts milliseconds unless it is told otherwise.
    assertThat(replies.sent.get(0)).isIn("Retry-After: 60", "Retry-After: 61");
    assertThat(replies.sent.get(1)).isEqualTo("Retry-After: 60");
  }

  private static void probeBefore(Replies reply) throws InterruptedException {
    Bucket bucket =
        Bucket.builder()
            .addLimit(limit -> limit.capacity(50).refillGreedy(1, Duration.ofMinutes(1)))
            .build();
    bucket.asBlocking().consume(50);
    ConsumptionProbe probe = bucket.tryConsumeAndReturnRemaining(1);
    if (!probe.isConsumed()) {
      long nanos = probe.getNanosToWaitForRefill();
      reply.header("Retry-After", TimeUnit.NANOSECONDS.toSeconds(nanos) + 1);
    }
  }

  private static void probeAfter(Replies reply) throws InterruptedException {
    TokenBucket bucket = TokenBucket.of(Limit.per(1, Duration.ofMinutes(1), 50));
    bucket.acquire(50);
    Decision decision = bucket.decide(1);
    if (decision instanceof Decision.Denied denied) {
      reply.header("Retry-After", denied.retryAfter().toSeconds() + 1);
    }
  }

  @Test
  void namedLimits_replaceBucketsOfCallers() {
    assertThat(grantedBefore(20)).isEqualTo(10);
    assertThat(grantedAfter(20)).isEqualTo(10);
  }

  private final Map<String, Bucket> buckets =
      new ConcurrentHashMap<>(); // grows with every caller there was

  private int grantedBefore(int requests) {
    int granted = 0;
    for (int i = 0; i < requests; i++) {
      Bucket bucket =
          buckets.computeIfAbsent(
              "acme",
              caller ->
                  Bucket.builder()
                      .addLimit(limit -> limit.capacity(10).refillGreedy(1, Duration.ofMinutes(1)))
                      .addLimit(limit -> limit.capacity(100).refillGreedy(100, Duration.ofDays(1)))
                      .build());
      if (bucket.tryConsume(1)) {
        granted++;
      }
    }
    return granted;
  }

  private static int grantedAfter(int requests) {
    Limits throttle = Limits.create();
    throttle.set("minute:*", Limit.ofRate(1 / 60.0, 10)); // what is full again is forgotten
    throttle.set("day:*", Limit.ofRate(100 / 86_400.0, 100));
    int granted = 0;
    for (int i = 0; i < requests; i++) {
      Decision decision = throttle.decide(Map.of("minute:acme", 1L, "day:acme", 1L));
      if (decision.isGranted()) { // both have given a token, or neither
        granted++;
      }
    }
    return granted;
  }

  @Test
  void strictLimit_replacesIntervalRefill() {
    Bucket before =
        Bucket.builder()
            .addLimit(limit -> limit.capacity(1_000).refillIntervally(1_000, Duration.ofDays(1)))
            .build();
    TokenBucket after = TokenBucket.of(Limit.strict(1_000, Duration.ofDays(1)));
    assertThat(before.tryConsume(1_000)).isEqualTo(after.tryAcquire(1_000)).isTrue();
    assertThat(before.tryConsume(1)).isEqualTo(after.tryAcquire(1)).isFalse();
  }
}
