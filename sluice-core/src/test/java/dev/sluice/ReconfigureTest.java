package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.sluice.internal.bucket.AtomicTokenBucket;
import dev.sluice.internal.bucket.BucketMath;
import dev.sluice.internal.bucket.Cell;
import dev.sluice.internal.bucket.CellSuccessor;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.lang.ref.WeakReference;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Changing the limit at run time keeps the tokens and never makes new ones. */
final class ReconfigureTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void tokensStay_andTheNewRateApplies() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 4, clock);
    bucket.reconfigure(Limit.perSecond(100));
    assertThat(bucket.limit()).isEqualTo(Limit.perSecond(100));
    assertThat(bucket.available()).isEqualTo(4);
    clock.advance(Duration.ofMillis(100));
    assertThat(bucket.available()).isEqualTo(14);
    clock.advance(Duration.ofDays(1));
    assertThat(bucket.available()).isEqualTo(100);
  }

  @Test
  void tokensAreClampedToTheNewCapacity() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(100), 90, clock);
    bucket.reconfigure(Limit.perSecond(10));
    assertThat(bucket.available()).isEqualTo(10);
    bucket.reconfigure(Limit.perSecond(100));
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void fractionsOfATokenStayToo() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    clock.advance(Duration.ofMillis(99));
    bucket.reconfigure(Limit.perSecond(1000));
    assertThat(bucket.available()).isZero();
    clock.advanceNanos(10_000);
    assertThat(bucket.available()).isEqualTo(1);
  }

  @Test
  void equalLimit_changesNothing() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(new Limit.Strict(5, SECOND), 3, clock);
    Cell before = ((AtomicTokenBucket) bucket).inService(0);
    bucket.reconfigure(new Limit.Strict(5, Duration.parse("PT1S")));
    assertThat(((AtomicTokenBucket) bucket).inService(0)).isSameAs(before);
  }

  @Test
  void betweenAllModes_wholeTokensStay() {
    ManualClock clock = ManualClock.startingAt(12_345);
    TokenBucket bucket = bucket(Limit.perSecond(10), 7, clock);
    for (Limit limit :
        List.of(
            new Limit.Strict(20, SECOND),
            new Limit.Manual(9),
            new Limit.Balanced(8, 999_983, Duration.ofDays(1)),
            new Limit.Strict(7, Duration.ofDays(3)),
            Limit.perMinute(1_000))) {
      bucket.reconfigure(limit);
      assertThat(bucket.available()).as("%s", limit).isEqualTo(7);
    }
    bucket.reconfigure(new Limit.DenyAll());
    assertThat(bucket.decide(1)).isInstanceOf(Decision.Impossible.class);
    bucket.reconfigure(Limit.perSecond(10));
    assertThat(bucket.available()).isZero();
    clock.advance(SECOND);
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void strictGrid_startsWithTheBucket_notWithTheChange() {
    ManualClock clock = ManualClock.startingAt(1_000);
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    clock.advance(Duration.ofMillis(2_345));
    bucket.reconfigure(new Limit.Strict(10, SECOND));
    assertThat(bucket.tryAcquire(10)).isTrue();
    assertThat(((Decision.Denied) bucket.decide(1)).retryAfter()).isEqualTo(Duration.ofMillis(655));
    clock.advance(Duration.ofMillis(655));
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void aLimitOutOfRange_isRefusedAndChangesNothing() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 7, ManualClock.create());
    Limit monstrous = new Limit.Balanced(Limit.MAX_CAPACITY, 1, Duration.ofDays(36_525));
    assertThatIllegalArgumentException().isThrownBy(() -> bucket.reconfigure(monstrous));
    assertThat(bucket.limit()).isEqualTo(Limit.perSecond(10));
    assertThat(bucket.available()).isEqualTo(7);
  }

  @Test
  void waiters_keepTheirPlace_andPayAtTheNewRate() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(5);
    CompletableFuture<Void> second = bucket.acquireAsync(10);
    clock.advance(Duration.ofMillis(300));
    bucket.reconfigure(Limit.perSecond(1000));
    assertThat(bucket.waiters()).isEqualTo(2);
    clock.advanceNanos(2_000_000 - 1);
    assertThat(first).isNotDone();
    clock.advanceNanos(1);
    assertThat(first).isCompleted();
    clock.advanceNanos(10_000_000 - 1);
    assertThat(second).isNotDone();
    clock.advanceNanos(1);
    assertThat(second).isCompleted();
    assertThat(bucket.available()).isZero();
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void waiters_throughDenyAllAndBack() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> waiter = bucket.acquireAsync(1);
    bucket.reconfigure(new Limit.DenyAll());
    clock.advance(Duration.ofDays(1));
    assertThat(waiter).isNotDone();
    bucket.reconfigure(Limit.perSecond(10));
    clock.advance(Duration.ofMillis(100));
    assertThat(waiter).isCompleted();
  }

  @Test
  void reconfigure_ifWaitersOweMoreThanTheNewLimitHolds_isRefused() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> waiter = bucket.acquireAsync(1_000_000);
    assertThatIllegalStateException()
        .isThrownBy(() -> bucket.reconfigure(new Limit.Balanced(1, 1, Duration.ofDays(36_525))))
        .withMessageContaining("waiting=1");
    assertThat(bucket.limit()).isEqualTo(Limit.perSecond(10));
    assertThat(waiter).isNotDone();
    clock.advance(Duration.ofSeconds(100_000));
    assertThat(waiter).isCompleted();
  }

  @Test
  void reconfigure_ifWaitersWouldWaitBeyondTheLastInstant_isRefused() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, ManualClock.create());
    CompletableFuture<Void> waiter = bucket.acquireAsync(5);
    assertThatIllegalStateException()
        .isThrownBy(() -> bucket.reconfigure(new Limit.Strict(1, Duration.ofDays(36_525))));
    bucket.reconfigure(new Limit.Strict(5, Duration.ofDays(36_525)));
    assertThat(waiter).isNotDone();
    assertThat(waiter.cancel(true)).isTrue();
  }

  @Test
  void waiters_dueWhenAChangeIsRefused_areGranted() {
    AtomicLong time = new AtomicLong();
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, time::get);
    CompletableFuture<Void> due = bucket.acquireAsync(1);
    CompletableFuture<Void> waiting = bucket.acquireAsync(1_000_000);
    time.set(SECOND.toNanos());
    assertThatIllegalStateException()
        .isThrownBy(() -> bucket.reconfigure(new Limit.Balanced(1, 1, Duration.ofDays(36_525))));
    assertThat(due).isCompleted();
    assertThat(waiting.cancel(true)).isTrue();
  }

  /** A thread that was away since before the change was wished must not apply the rate earlier. */
  @Test
  void aHelperWithAnOldReading_doesNotBackdateTheRate() {
    AtomicTokenBucket bucket =
        (AtomicTokenBucket) bucket(Limit.perSecond(10), 0, ManualClock.create());
    long wished = Duration.ofSeconds(60).toNanos();
    assertThat(bucket.tryAcquire(10, wished)).isTrue();
    UnitScale faster = UnitScale.of(Limit.perSecond(1_000_000));
    assertThat(bucket.ask(new CellSuccessor.Change(faster, wished))).isTrue();
    assertThat(bucket.seal(false)).isTrue();
    Cell next = bucket.successor(0, 5, () -> 7);
    assertThat(next.epochScale.bornNanos()).isEqualTo(wished);
    assertThat(bucket.available(wished)).isZero();
    assertThat(bucket.available(5)).isZero();
  }

  /** Tokens were granted after the writer read the clock and before its change took effect. */
  @Test
  void aWriterWithAnOldReading_doesNotBackdateTheRate() {
    for (Limit slow :
        List.of(
            new Limit.Balanced(10, 1, Duration.ofSeconds(1_000)),
            new Limit.Manual(10),
            new Limit.Strict(10, Duration.ofDays(1)))) {
      AtomicLong time = new AtomicLong();
      AtomicReference<Runnable> afterReading = new AtomicReference<>(() -> {});
      TokenBucket bucket =
          bucket(
              slow,
              10,
              () -> {
                long reading = time.get();
                afterReading.getAndSet(() -> {}).run();
                return reading;
              });
      afterReading.set(
          () -> {
            time.set(SECOND.toNanos());
            assertThat(bucket.tryAcquire(10)).isTrue();
          });
      bucket.reconfigure(Limit.perSecond(10));
      assertThat(bucket.tryAcquire(1)).as("%s", slow).isFalse();
      time.addAndGet(Duration.ofMillis(100).toNanos());
      assertThat(bucket.tryAcquire(1)).as("no false debt either").isTrue();
    }
  }

  @Test
  void reconfigureUnderLoad_leavesNoFalseDebt() {
    for (int round = 0; round < 30; round++) {
      TokenBucket bucket = TokenBucket.perSecond(100_000_000);
      AtomicBoolean done = new AtomicBoolean();
      CompletableFuture<Void> load =
          Threads.beside(
              () -> {
                while (!done.get()) {
                  bucket.tryAcquire(100_000);
                }
              });
      bucket.reconfigure(Limit.perSecond(1));
      done.set(true);
      load.join();
      assertThat(bucket.timeToFull().orElseThrow()).isLessThanOrEqualTo(SECOND);
    }
  }

  @Test
  void aStaleReading_leavesNoFalseDebt() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    assertThat(bucket.tryAcquire(10, SECOND.toNanos())).isTrue();
    bucket.reconfigure(Limit.perSecond(1));
    clock.advance(SECOND);
    assertThat(((Decision.Denied) bucket.decide(1)).retryAfter()).isEqualTo(SECOND);
  }

  @Test
  void oldCells_areCollected() {
    AtomicTokenBucket bucket =
        (AtomicTokenBucket) bucket(Limit.perSecond(10), 4, ManualClock.create());
    List<WeakReference<Cell>> old = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      bucket.reconfigure(i % 2 == 0 ? Limit.perSecond(20) : Limit.perSecond(10));
      old.add(new WeakReference<>(bucket.inService(0)));
    }
    bucket.reconfigure(Limit.perSecond(30));
    for (int tries = 0; tries < 100 && old.stream().anyMatch(each -> each.get() != null); tries++) {
      System.gc();
      Thread.onSpinWait();
    }
    assertThat(old).allMatch(each -> each.refersTo(null));
    assertThat(bucket.available()).isEqualTo(4);
  }

  @Test
  void fullBucket_gainsNothingFromALargerCapacity() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    clock.advance(Duration.ofDays(1));
    bucket.reconfigure(Limit.perSecond(1_000));
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void strictWaiters_oweNoGapsAfterAChange() {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = bucket(new Limit.Strict(10, SECOND), 0, clock);
    List<CompletableFuture<Void>> waiters =
        Stream.generate(() -> bucket.acquireAsync(6)).limit(4).toList();
    for (int i = 0; i < 100; i++) {
      bucket.reconfigure(new Limit.Strict(10, Duration.ofSeconds(2)));
      bucket.reconfigure(new Limit.Strict(10, SECOND));
    }
    bucket.reconfigure(new Limit.Manual(10));
    bucket.replenish(23);
    assertThat(waiters).filteredOn(CompletableFuture::isDone).hasSize(3);
    bucket.replenish(1);
    assertThat(waiters).allMatch(CompletableFuture::isDone);
    assertThat(bucket.available()).isZero();
  }

  @Test
  void reconfigure_ifWaitersOweMoreThanTheGridHolds_isRefused() {
    TokenBucket bucket = bucket(new Limit.Manual(Limit.MAX_CAPACITY), 0, ManualClock.create());
    List<CompletableFuture<Void>> waiters =
        Stream.generate(() -> bucket.acquireAsync((1L << 52) + 1)).limit(700).toList();
    assertThatIllegalStateException()
        .isThrownBy(() -> bucket.reconfigure(new Limit.Strict(Limit.MAX_CAPACITY, SECOND)));
    assertThat(bucket.available()).isZero();
    assertThat(waiters).noneMatch(CompletableFuture::isDone);
  }

  @Test
  void denyAll_grantsNothing_evenToAWaiterOfAReplenishedBucket() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, ManualClock.create());
    CompletableFuture<Void> waiter = bucket.acquireAsync(5);
    bucket.reconfigure(new Limit.DenyAll());
    bucket.replenish(5);
    assertThat(waiter).isNotDone();
  }

  /** A writer that stalls before the seal delays no other; the next one completes the change. */
  @Test
  void aStalledWriter_isHelped() {
    AtomicTokenBucket bucket =
        (AtomicTokenBucket) bucket(Limit.perSecond(10), 6, ManualClock.create());
    // A writer that stalls before sealing has published its wish and nothing more.
    bucket.successor = new CellSuccessor.Change(UnitScale.of(Limit.perSecond(20)), 0);
    assertThat(bucket.tryAcquire(1)).as("not sealed yet: the old cell serves").isTrue();
    bucket.reconfigure(Limit.perSecond(30));
    assertThat(bucket.limit()).isEqualTo(Limit.perSecond(30));
    assertThat(bucket.available()).isEqualTo(5);
  }

  @Test
  void conversion_neverGains_andLosesLessThanAUnit() {
    Property.check(
        1_000,
        generator -> {
          Limit.Balanced from = balanced(generator);
          Limit.Balanced to = balanced(generator);
          long part = generator.longBetween(0, 1_000_000);
          ManualClock clock = ManualClock.create();
          AtomicTokenBucket bucket =
              (AtomicTokenBucket) bucket(from, from.capacity() * part / 1_000_000, clock);
          long now = part * 997;
          clock.advanceNanos(now);
          Cell before = bucket.inService(now);
          BigInteger level = level(before, now);
          bucket.reconfigure(to);
          Cell after = bucket.inService(now);
          BigInteger kept = level(after, now);
          // Compare level/unitsPerToken before and after, clamped to the new capacity.
          BigInteger exact =
              level
                  .multiply(big(after.unitsPerToken))
                  .min(big(after.capacityUnits).multiply(big(before.unitsPerToken)));
          BigInteger lost = exact.subtract(kept.multiply(big(before.unitsPerToken)));
          if (before != after) {
            assertThat(lost).isNotNegative().isLessThan(big(before.unitsPerToken));
          }
        });
  }

  @Test
  void storm_conservesTokens() {
    // Time stands still and every capacity is above the number of tokens: none may come or go.
    long tokens = 200_000;
    TokenBucket bucket = bucket(new Limit.Manual(1_000_000), tokens, ManualClock.create());
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> storm =
        Threads.beside(
            () -> {
              List<Limit> limits =
                  List.of(
                      Limit.perSecond(1_000_000),
                      new Limit.Balanced(300_000, 999_983, SECOND),
                      new Limit.Strict(500_000, SECOND),
                      new Limit.Manual(250_000),
                      new Limit.Balanced(1_000_000, 7, Duration.ofHours(1)));
              for (int i = 0; !done.get(); i++) {
                bucket.reconfigure(limits.get(i % limits.size()));
              }
            });
    AtomicLong givenBack = new AtomicLong();
    long taken =
        sumOver(
            3,
            () -> {
              long count = 0;
              while (bucket.tryAcquire(3)) {
                count += 3;
                if (ThreadLocalRandom.current().nextInt(5) == 0) {
                  bucket.replenish(1);
                  givenBack.incrementAndGet();
                }
              }
              return count;
            });
    done.set(true);
    storm.join();
    assertThat(taken + bucket.available()).isEqualTo(tokens + givenBack.get());
  }

  @Test
  void storm_withMovingClock_neverExceedsTheFastestLimit() {
    TokenBucket bucket = TokenBucket.perSecond(1_000);
    long start = System.nanoTime();
    long end = start + 500_000_000;
    CompletableFuture<Void> storm =
        Threads.beside(
            () -> {
              for (int i = 0; System.nanoTime() - end < 0; i++) {
                bucket.reconfigure(new Limit.Balanced(1_000, 10_000 + i % 2 * 1_003, SECOND));
              }
            });
    long granted =
        sumOver(
            2,
            () -> {
              long count = 0;
              while (System.nanoTime() - end < 0) {
                count += bucket.tryAcquire() ? 1 : 0;
              }
              return count;
            });
    storm.join();
    double legal = 1_000 + 11_003 * (System.nanoTime() - start) / 1e9 + 1;
    assertThat((double) granted).isLessThanOrEqualTo(legal).isGreaterThan(2_000);
  }

  private static Limit.Balanced balanced(Generator generator) {
    return new Limit.Balanced(
        generator.longBetween(1, 1_000_000),
        generator.longBetween(1, 1_000_000),
        Duration.ofNanos(generator.longBetween(1, 10_000_000_000L)));
  }

  private static BigInteger level(Cell cell, long now) {
    return big(BucketMath.level(cell.fullAt(), cell.unitsAt(now), cell.capacityUnits));
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }
}
