package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.limits.AtomicLimits;
import dev.sluice.internal.limits.KeyedBucket;
import java.lang.ref.WeakReference;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.openjdk.jol.info.ClassLayout;

/** The memory that limits keep, and for how long. */
final class ThrottleMemoryTest {
  private final ManualClock clock = ManualClock.create();
  private final Limits throttle = Limits.builder().clock(clock).build();

  @Test
  void aBucket_isFortyBytes() {
    assertThat(ClassLayout.parseClass(KeyedBucket.class).instanceSize()).isLessThanOrEqualTo(40);
  }

  @Test
  void keysOfOneRate_shareTheirAxis() {
    for (int i = 0; i < 1_000; i++) {
      throttle.set("key" + i, Limit.ofRate(i % 2 + 1, 10));
      clock.advanceNanos(1_000_000);
    }
    assertThat(((AtomicLimits) throttle).axes()).isEqualTo(2);
  }

  @Test
  void nothingIsKept_ofARemovedKey() {
    WeakReference<String> removed = usedAndRemoved(false);
    assertCollected(removed);
    assertThat(throttle.size()).isZero();
  }

  @Test
  void nothingIsKept_ofAnEvictedKey() {
    throttle.set("key*", Limit.ofRate(1, 1));
    assertCollected(usedAndRemoved(true));
    assertThat(throttle.size()).isZero();
  }

  private WeakReference<String> usedAndRemoved(boolean template) {
    String key = "key" + System.identityHashCode(this);
    if (!template) {
      throttle.set(key, Limit.ofRate(1, 1));
    }
    throttle.tryAcquire(List.of(key));
    clock.advanceNanos(1_000_000_000);
    assertThat(template ? throttle.evictIdle() == 1 : throttle.remove(key)).isTrue();
    return new WeakReference<>(key);
  }

  @Test
  void ratesNoLongerUsed_areForgotten() {
    for (int i = 1; i <= 1_000; i++) {
      throttle.set("key", Limit.ofRate(i, 10));
    }
    System.gc();
    for (int tries = 0; tries < 50 && ((AtomicLimits) throttle).axes() > 200; tries++) {
      System.gc();
      for (int i = 1; i <= 200; i++) {
        throttle.set("key", Limit.ofRate(2_000 + 200 * tries + i, 10));
      }
      Thread.onSpinWait();
    }
    assertThat(((AtomicLimits) throttle).axes()).isLessThan(1_000);
  }

  private static void assertCollected(WeakReference<?> reference) {
    for (int tries = 0; tries < 100 && reference.get() != null; tries++) {
      System.gc();
      Thread.onSpinWait();
    }
    assertThat(reference.get()).isNull();
  }
}
