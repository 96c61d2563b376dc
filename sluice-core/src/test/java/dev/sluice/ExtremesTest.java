package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.properties.BucketModel;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Boundaries, huge numbers, and clocks that misbehave. */
final class ExtremesTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final long YEAR_NANOS = Duration.ofDays(365).toNanos();

  @ParameterizedTest
  @CsvSource({
    // level, request, granted
    "0, 0, true",
    "0, 1, false",
    "0, 9, false",
    "0, 10, false",
    "0, 11, false",
    "5, 0, true",
    "5, 1, true",
    "5, 9, false",
    "5, 10, false",
    "5, 11, false",
    "5, 5, true",
    "5, 6, false",
    "10, 0, true",
    "10, 1, true",
    "10, 9, true",
    "10, 10, true",
    "10, 11, false",
  })
  void boundaryMatrix(long level, long request, boolean granted) {
    for (Limit limit :
        new Limit[] {Limit.perSecond(10), new Limit.Strict(10, SECOND), new Limit.Manual(10)}) {
      TokenBucket bucket = bucket(limit, level, ManualClock.create());
      assertThat(bucket.peek(request).isGranted()).isEqualTo(granted);
      assertThat(bucket.tryAcquire(request)).as("%s", limit).isEqualTo(granted);
      assertThat(bucket.available()).isEqualTo(granted ? level - request : level);
    }
  }

  @Test
  void zeroTimeDelta_mintsNothing() {
    TokenBucket bucket = bucket(Limit.perSecond(1_000_000_000), 3, ManualClock.create());
    assertThat(bucket.tryAcquire(2, 0)).isTrue();
    assertThat(bucket.tryAcquire(1, 0)).isTrue();
    assertThat(bucket.tryAcquire(1, 0)).isFalse();
    assertThat(bucket.tryAcquire(1, 1)).isTrue();
  }

  @Test
  void zeroTokens_areGrantedWithoutReadingTheClock() {
    AtomicLong readings = new AtomicLong();
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(Limit.manual(1))
            .initialTokens(0)
            .clock(readings::incrementAndGet)
            .build();
    long atStart = readings.get();
    assertThat(bucket.tryAcquire(0)).isTrue();
    assertThat(readings).hasValue(atStart);
  }

  @ParameterizedTest
  @ValueSource(longs = {Long.MAX_VALUE, Long.MAX_VALUE - 1, Limit.MAX_CAPACITY + 1})
  void hugeRequests_areImpossible(long tokens) {
    for (Limit limit :
        new Limit[] {Limit.perSecond(10), new Limit.Strict(10, SECOND), new Limit.Manual(10)}) {
      TokenBucket bucket = bucket(limit, 10, ManualClock.create());
      assertThat(bucket.tryAcquire(tokens)).isFalse();
      assertThat(bucket.decide(tokens)).isInstanceOf(Decision.Impossible.class);
    }
  }

  @Test
  void hugeCapacity_isServedWhole() {
    TokenBucket bucket =
        bucket(Limit.perSecond(1_000_000_000), 1_000_000_000, ManualClock.create());
    assertThat(bucket.tryAcquire(1_000_000_000)).isTrue();
    TokenBucket largest =
        bucket(new Limit.Manual(Limit.MAX_CAPACITY), Limit.MAX_CAPACITY, ManualClock.create());
    assertThat(largest.tryAcquire(Limit.MAX_CAPACITY)).isTrue();
    assertThat(largest.tryAcquire(1)).isFalse();
    largest.replenish(Long.MAX_VALUE);
    assertThat(largest.available()).isEqualTo(Limit.MAX_CAPACITY);
  }

  @Test
  void oneTokenPerHundredYears() {
    Duration century = Duration.ofDays(36_525);
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(new Limit.Balanced(1, 1, century), 1, clock);
    assertThat(bucket.tryAcquire()).isTrue();
    assertThat(((Decision.Denied) bucket.decide(1)).retryAfter()).isEqualTo(century);
    clock.advance(century.minusNanos(1));
    assertThat(bucket.tryAcquire()).isFalse();
    clock.advanceNanos(1);
    assertThat(bucket.tryAcquire()).isTrue();
    assertThat(bucket.tryAcquire()).isFalse();
    clock.advance(century);
    assertThat(bucket.tryAcquire()).isTrue();
  }

  @Test
  void frozenClock_grantsTheCapacityOnce() {
    TokenBucket bucket = bucket(Limit.perSecond(1_000), 1_000, () -> 42);
    int granted = 0;
    for (int i = 0; i < 10_000; i++) {
      granted += bucket.tryAcquire() ? 1 : 0;
    }
    assertThat(granted).isEqualTo(1_000);
  }

  @Test
  void backwardClock_mintsNothing() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, ManualClock.create());
    long later = SECOND.toNanos() * 100;
    assertThat(bucket.tryAcquire(10, later)).isTrue();
    for (long now = later; now > -later; now -= SECOND.toNanos() / 3) {
      assertThat(bucket.tryAcquire(1, now)).isFalse();
    }
    assertThat(bucket.available(later)).isZero();
    assertThat(bucket.available(later + SECOND.toNanos())).isEqualTo(10);
  }

  @Test
  void readingsBeforeTheStart_countAsTheStart() {
    AtomicLong nanos = new AtomicLong(1_000);
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, nanos::get);
    nanos.set(-5_000);
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
    assertThat(bucket.tryAcquire(10, -5_000)).isTrue();
    assertThat(bucket.tryAcquire(1, 999)).isFalse();
    // The token is due 100 ms after the start, whenever the asker thinks it is.
    assertThat(((Decision.Denied) bucket.peek(1)).retryAfterNanos())
        .isEqualTo(100_000_000L + 6_000);
  }

  /** A rate whose epoch ends after minutes, so that the tests below cross many epochs. */
  private static final Limit COPRIME = new Limit.Balanced(999_983, 999_983, SECOND);

  @Test
  void afterTheEpochMoved_backwardClockStillMintsNothing() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(COPRIME, 999_983, clock);
    assertThat(bucket.tryAcquire(999_983, 0)).isTrue();
    long decades = 30 * YEAR_NANOS;
    assertThat(bucket.tryAcquire(1, decades)).isTrue();
    for (long now = decades - 1; now > 0; now -= YEAR_NANOS) {
      bucket.tryAcquire(1, now);
    }
    assertThat(bucket.tryAcquire(1, 1)).isFalse();
    assertThat(bucket.available(1)).isZero();
    clock.advanceNanos(1);
    assertThat(bucket.decide(1)).isInstanceOf(Decision.Denied.class);
  }

  @Test
  void aDeniedRequestFromTheFuture_doesNotMoveTheEpoch() {
    TokenBucket bucket = bucket(COPRIME, 999_983, ManualClock.create());
    assertThat(bucket.tryAcquire(999_983, 0)).isTrue();
    assertThat(bucket.tryAcquire(999_984, 30 * YEAR_NANOS)).isFalse();
    assertThat(bucket.available(30 * YEAR_NANOS)).isEqualTo(999_983);
    assertThat(bucket.tryAcquire(1, 1)).isFalse();
    assertThat(bucket.available(SECOND.toNanos() / 2)).isEqualTo(499_991);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, Long.MAX_VALUE - 5, Long.MIN_VALUE, -1, 1L << 61})
  void decadesOfIdle_fillOnceAndNoMore(long start) {
    for (Limit limit :
        new Limit[] {
          COPRIME,
          Limit.perSecond(7),
          new Limit.Strict(7, Duration.ofMillis(3)),
          new Limit.Strict(Limit.MAX_CAPACITY, Duration.ofMillis(10)),
          new Limit.Balanced(3, 3, Duration.ofSeconds(7)),
        }) {
      ManualClock clock = ManualClock.startingAt(start);
      TokenBucket bucket = bucket(limit, limit.capacity(), clock);
      for (int i = 0; i < 20; i++) {
        assertThat(bucket.tryAcquire(limit.capacity())).as("%s, round %s", limit, i).isTrue();
        assertThat(bucket.tryAcquire(1)).isFalse();
        clock.advance(Duration.ofDays(365 * 10));
        assertThat(bucket.available()).isEqualTo(limit.capacity());
      }
    }
  }

  @Test
  void coprimeRate_isExactAcrossManyEpochs() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(COPRIME, 0, clock);
    BucketModel model = BucketModel.of(Refills.of(COPRIME), 0, 0);
    for (int i = 0; i < 20_000; i++) {
      clock.advanceNanos(777_777_777);
      long want = 777_764L + i % 3;
      Optional<BucketModel> taken = model.take(want, clock.nanoTime());
      assertThat(bucket.tryAcquire(want)).isEqualTo(taken.isPresent());
      model = taken.orElse(model);
      assertThat(bucket.available()).isEqualTo(model.available(clock.nanoTime()));
    }
    assertThat(clock.nanoTime()).isGreaterThan(10 * UnitScale.of(COPRIME).horizonNanos());
  }

  @Test
  void strict_refillsOnAFixedGrid_atAnyPollingInterval() {
    ManualClock clock = ManualClock.startingAt(500);
    TokenBucket bucket = bucket(new Limit.Strict(2, Duration.ofNanos(100)), 2, clock);
    long granted = 0;
    for (long i = 1; i <= 10_000; i++) {
      clock.advanceNanos(7);
      while (bucket.tryAcquire()) {
        granted++;
      }
      assertThat(granted).isEqualTo(2 + i * 7 / 100 * 2);
    }
  }

  @Test
  void strict_unusedPeriodsAreLost_andNothingAccruesBeforeTheBoundary() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(new Limit.Strict(5, SECOND), 5, clock);
    assertThat(bucket.tryAcquire(3)).isTrue();
    clock.advance(SECOND.minusNanos(1));
    assertThat(bucket.available()).isEqualTo(2);
    assertThat(((Decision.Denied) bucket.decide(3)).retryAfterNanos()).isEqualTo(1);
    clock.advanceNanos(1);
    assertThat(bucket.available()).isEqualTo(5);
    clock.advance(Duration.ofMillis(3_700));
    assertThat(bucket.tryAcquire(5)).isTrue();
    assertThat(((Decision.Denied) bucket.decide(1)).retryAfter()).isEqualTo(Duration.ofMillis(300));
    assertThat(bucket.timeToFull()).contains(Duration.ofMillis(300));
  }

  @Test
  void manual_onlyReplenishAdds() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(new Limit.Manual(10), 10, clock);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
    assertThat(bucket.tryAcquire(8)).isTrue();
    clock.advance(Duration.ofDays(36_500));
    assertThat(bucket.available()).isEqualTo(2);
    assertThat(bucket.timeToFull()).isEmpty();
    assertThat(((Decision.Depleted) bucket.decide(5)).missing()).isEqualTo(3);
    bucket.replenish(3);
    assertThat(bucket.tryAcquire(5)).isTrue();
    bucket.replenish(100);
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.tryAcquire(10, clock.nanoTime() - YEAR_NANOS)).isTrue();
    bucket.replenish(4);
    assertThat(bucket.available()).isEqualTo(4);
    bucket.reset();
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void replenish_onFullBucket_staysFull() {
    AtomicLong nanos = new AtomicLong();
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, nanos::get);
    bucket.replenish(100);
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.tryAcquire(10)).isTrue();
    assertThat(bucket.tryAcquire(1)).isFalse();
    bucket.replenish(0);
    assertThat(bucket.available()).isZero();
    nanos.set(-5);
    bucket.reset();
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void idleDrainDrain_secondDrainGetsOnlyTheAccruedTokens() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    clock.advance(Duration.ofHours(1));
    assertThat(bucket.tryAcquire(10)).isTrue();
    assertThat(bucket.tryAcquire(1)).isFalse();
    clock.advance(Duration.ofMillis(500));
    assertThat(bucket.tryAcquire(6)).isFalse();
    assertThat(bucket.tryAcquire(5)).isTrue();
  }

  static TokenBucket bucket(Limit limit, long initialTokens, NanoClock clock) {
    return TokenBucket.builder().limit(limit).initialTokens(initialTokens).clock(clock).build();
  }

  @Test
  void acquire_atAReadingBeforeAMovedEpoch_isNotServedAtOnce() {
    long second = 1_000_000_000;
    AtomicLong now = new AtomicLong();
    Duration period = Duration.ofSeconds(1);
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(new Limit.Balanced(14, 999_983, period))
            .clock(now::get)
            .build();
    assertThat(bucket.tryAcquire(14)).isTrue();
    now.set(3_000 * second);
    assertThat(bucket.tryAcquire(1, 2_700 * second)).isFalse();
    now.set(0);
    assertThat(bucket.tryAcquire(13)).isFalse();
    CompletableFuture<Void> early = bucket.acquireAsync(13);
    assertThat(early).isNotDone();
    assertThat(early.cancel(true)).isTrue();
  }
}
