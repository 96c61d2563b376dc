package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.limits.AtomicLimits;
import dev.sluice.internal.limits.KeyedBucket;
import java.lang.ref.WeakReference;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.ClassLayout;

/** The memory that limits keep, and for how long. */
final class LimitsMemoryTest {
  private final ManualClock clock = ManualClock.create();
  private final Limits limits = Limits.builder().clock(clock).build();

  @Test
  void aBucket_isFortyBytes() {
    assertThat(ClassLayout.parseClass(KeyedBucket.class).instanceSize()).isLessThanOrEqualTo(40);
  }

  @Test
  void keysOfOneRate_shareTheirEpochScale() {
    for (int i = 0; i < 1_000; i++) {
      limits.set("key" + i, Limit.ofRate(i % 2 + 1, 10));
      clock.advanceNanos(1_000_000);
    }
    assertThat(((AtomicLimits) limits).epochScales()).isEqualTo(2);
  }

  @Test
  void removedKey_isGarbageCollected() {
    WeakReference<String> removed = usedAndRemoved(false);
    assertCollected(removed);
    assertThat(limits.size()).isZero();
  }

  @Test
  void evictedKey_isGarbageCollected() {
    limits.set("key*", Limit.ofRate(1, 1));
    assertCollected(usedAndRemoved(true));
    assertThat(limits.size()).isZero();
  }

  private WeakReference<String> usedAndRemoved(boolean template) {
    String key = "key" + System.identityHashCode(this);
    if (!template) {
      limits.set(key, Limit.ofRate(1, 1));
    }
    limits.tryAcquire(List.of(key));
    clock.advanceNanos(1_000_000_000);
    assertThat(template ? limits.evictIdle() == 1 : limits.remove(key)).isTrue();
    return new WeakReference<>(key);
  }

  @Test
  void ratesNoLongerUsed_areForgotten() {
    for (int i = 1; i <= 1_000; i++) {
      limits.set("key", Limit.ofRate(i, 10));
    }
    System.gc();
    for (int tries = 0; tries < 50 && ((AtomicLimits) limits).epochScales() > 200; tries++) {
      System.gc();
      for (int i = 1; i <= 200; i++) {
        limits.set("key", Limit.ofRate(2_000 + 200 * tries + i, 10));
      }
      Thread.onSpinWait();
    }
    assertThat(((AtomicLimits) limits).epochScales()).isLessThan(1_000);
  }

  private static void assertCollected(WeakReference<?> reference) {
    for (int tries = 0; tries < 100 && reference.get() != null; tries++) {
      System.gc();
      Thread.onSpinWait();
    }
    assertThat(reference.get()).isNull();
  }
}
