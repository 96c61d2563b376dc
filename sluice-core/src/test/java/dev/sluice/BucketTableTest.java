package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.limits.BucketTable;
import dev.sluice.internal.limits.KeyedBucket;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Changes that one thread leaves half done and others finish. */
final class BucketTableTest {
  private static final long SECOND = 1_000_000_000;

  private final BucketTable buckets = new BucketTable(() -> 0);

  @Test
  void aStalledEviction_isFinishedByTheNextCaller() {
    buckets.setTemplate("t:", new Limit.Rate(1, 2));
    KeyedBucket bucket = inService("t:1", 0);
    assertThat(bucket.take(2, 0)).isNotNegative();
    assertThat(bucket.sealIfFull(2 * SECOND)).isTrue();
    assertThat(bucket.take(1, 2 * SECOND)).isEqualTo(KeyedBucket.MOVED);
    assertThat(inService("t:1", 2 * SECOND)).as("still in the map").isSameAs(bucket);
    buckets.renew(bucket, 2 * SECOND);
    KeyedBucket next = inService("t:1", 2 * SECOND);
    assertThat(next).isNotSameAs(bucket);
    assertThat(next.take(1, 0)).as("a reading from before the old one was full").isNegative();
    assertThat(next.take(2, 2 * SECOND)).isNotNegative();
    assertThat(next.take(1, 2 * SECOND)).isNegative();
  }

  @Test
  void set_onABucketBeingEvicted_takesEffect() {
    buckets.setTemplate("t:", new Limit.Rate(1, 2));
    assertThat(inService("t:1", 0).sealIfFull(0)).isTrue();
    buckets.set("t:1", new Limit.Rate(0, 5), 0);
    assertThat(inService("t:1", 0).take(5, 0)).isNotNegative();
    assertThat(buckets.size()).isEqualTo(1);
  }

  @Test
  void aReplacedBucket_isNotTakenForAnEvictedOne() {
    buckets.setTemplate("t:", new Limit.Rate(1, 2));
    buckets.set("slow", new Limit.Rate(0.001, 2), 0);
    KeyedBucket old = inService("slow", 0);
    assertThat(old.take(2, 0)).as("full again in half an hour").isNotNegative();
    buckets.set("slow", new Limit.Rate(0.002, 2), 0);
    assertThat(old.take(1, 0)).isEqualTo(KeyedBucket.MOVED);
    buckets.renew(old, 0);
    assertThat(inService("t:1", 0).take(2, 0)).as("a new key is full").isNotNegative();
  }

  @Test
  void aBucketBeyondItsHorizon_isReplacedWithTheSameLevel() {
    buckets.set("a", new Limit.Rate(999_999_937, 1_000_000_000), 0);
    KeyedBucket old = inService("a", 0);
    assertThat(old.take(1_000_000_000, 0)).isNotNegative();
    long later = 900_000_000;
    long minted = 899_999_943;
    assertThat(old.take(minted, later)).isEqualTo(KeyedBucket.EXPIRED);
    buckets.renew(old, later);
    KeyedBucket next = inService("a", later);
    assertThat(next).isNotSameAs(old);
    assertThat(next.take(minted + 1, later)).isNegative();
    assertThat(next.take(minted, later)).isNotNegative();
    assertThat(next.take(1, later)).isNegative();
  }

  private KeyedBucket inService(String key, long nowNanos) {
    return Objects.requireNonNull(buckets.inService(key, nowNanos));
  }
}
