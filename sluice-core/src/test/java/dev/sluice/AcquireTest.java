package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.AcquireRejectedException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waiting for tokens: in order, without barging, and exactly undone by canceling. */
@Timeout(120)
final class AcquireTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final long MS = 1_000_000;

  private final ManualClock clock = ManualClock.create();

  @Test
  void availableTokens_areTakenAtOnce() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    assertThat(bucket.acquireAsync(10)).isCompleted();
    assertThat(bucket.acquireAsync(0)).isCompleted();
    assertThat(bucket.waiters()).isZero();
  }

  @Test
  void waiters_areGrantedInOrderWhenDue_onTheAdvancingThread() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    List<String> log = new ArrayList<>();
    Thread caller = Thread.currentThread();
    List<CompletableFuture<Void>> callbacks = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      String name = "w" + i;
      callbacks.add(
          bucket
              .acquireAsync(i + 1)
              .thenRun(
                  () -> {
                    assertThat(Thread.currentThread()).isSameAs(caller);
                    log.add(name + "@" + clock.nanoTime() / MS);
                  }));
    }
    clock.advance(SECOND);
    assertThat(callbacks).allSatisfy(callback -> assertThat(callback).isCompleted());
    assertThat(log).containsExactly("w0@100", "w1@300", "w2@600");
    assertThat(bucket.available()).isEqualTo(4);
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void smallRequests_doNotBargeBeforeALargeOne() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 3, clock);
    CompletableFuture<Void> large = bucket.acquireAsync(10);
    assertThat(bucket.tryAcquire(1)).isFalse();
    CompletableFuture<Void> small = bucket.acquireAsync(1);
    assertThat(bucket.available()).isZero();
    assertThat(((Decision.Denied) bucket.decide(1)).retryAfter()).isEqualTo(Duration.ofMillis(900));
    clock.advance(Duration.ofMillis(700));
    assertThat(large).isCompleted();
    assertThat(small).isNotDone();
    clock.advance(Duration.ofMillis(100));
    assertThat(small).isCompleted();
  }

  @Test
  void moreThanTheCapacity_waitsUntilItHasAccrued() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    CompletableFuture<Void> big = bucket.acquireAsync(1_000);
    clock.advance(Duration.ofSeconds(99).minusNanos(1));
    assertThat(big).isNotDone();
    clock.advanceNanos(1);
    assertThat(big).isCompleted();
    assertThat(bucket.available()).isZero();
  }

  @Test
  void manual_replenishServesWaitersFirst_thenFillsUpToTheCapacity() {
    TokenBucket bucket = bucket(new Limit.Manual(1_500), 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(1_000);
    CompletableFuture<Void> second = bucket.acquireAsync(4_000);
    bucket.replenish(999);
    assertThat(first).isNotDone();
    bucket.replenish(1);
    assertThat(first).isCompleted();
    assertThat(second).isNotDone();
    bucket.replenish(1_000_000);
    assertThat(second).isCompleted();
    assertThat(bucket.available()).isEqualTo(1_500);
  }

  @Test
  void replenishAndReset_grantWaitersSooner() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(10);
    CompletableFuture<Void> second = bucket.acquireAsync(10);
    clock.advance(Duration.ofMillis(500));
    bucket.replenish(5);
    assertThat(first).isCompleted();
    assertThat(second).isNotDone();
    bucket.reset();
    assertThat(second).isCompleted();
    assertThat(bucket.available()).isZero();
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void cancel_returnsExactlyThePromisedTokens_andWakesTheNext() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> head = bucket.acquireAsync(10);
    CompletableFuture<Void> next = bucket.acquireAsync(4);
    CompletableFuture<Void> last = bucket.acquireAsync(2);
    clock.advance(Duration.ofMillis(450));
    assertThat(head.cancel(true)).isTrue();
    assertThat(head).isCancelled();
    assertThat(next).isCompleted();
    assertThat(last).isNotDone();
    clock.advance(Duration.ofMillis(150).minusNanos(1));
    assertThat(last).isNotDone();
    clock.advanceNanos(1);
    assertThat(last).isCompleted();
    assertThat(bucket.available()).isZero();
  }

  @Test
  void cancelInTheMiddleAndAtTheEnd_returnsAllTokens() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> head = bucket.acquireAsync(1);
    CompletableFuture<Void> middle = bucket.acquireAsync(100);
    CompletableFuture<Void> last = bucket.acquireAsync(50);
    assertThat(middle.cancel(false)).isTrue();
    assertThat(last.cancel(false)).isTrue();
    assertThat(middle.cancel(false)).as("canceled twice").isTrue();
    clock.advance(Duration.ofMillis(250));
    assertThat(head).isCompleted();
    assertThat(bucket.available()).isEqualTo(1);
    clock.advance(Duration.ofMillis(50));
    assertThat(bucket.available()).isEqualTo(2);
  }

  @Test
  void cancelOfMoreThanTheCapacity_leavesAtMostAFullBucket() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    CompletableFuture<Void> big = bucket.acquireAsync(1_000_000);
    clock.advance(Duration.ofHours(1));
    assertThat(big.cancel(true)).isTrue();
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.tryAcquire(10)).isTrue();
    assertThat(bucket.tryAcquire(1)).isFalse();
  }

  /** Far slower than any test, so that the timer, which goes by real time, never gets there. */
  private static final Duration HOUR = Duration.ofHours(1);

  @Test
  void cancelAfterTheTokensAreDue_failsAndGrants() {
    AtomicLong time = new AtomicLong();
    TokenBucket bucket = bucket(new Limit.Balanced(10, 10, HOUR), 0, time::get);
    CompletableFuture<Void> waiter = bucket.acquireAsync(10);
    time.set(HOUR.toNanos());
    assertThat(waiter.cancel(true)).isFalse();
    assertThat(waiter).isCompleted();
    assertThat(bucket.tryAcquire(1)).isFalse();
  }

  /** Charged when it happens: else twenty tokens would leave a bucket of ten in one instant. */
  @Test
  void lateGrant_isChargedWhenItHappens() {
    AtomicLong time = new AtomicLong();
    TokenBucket bucket = bucket(new Limit.Balanced(10, 10, HOUR), 0, time::get);
    CompletableFuture<Void> first = bucket.acquireAsync(10);
    CompletableFuture<Void> second = bucket.acquireAsync(4);
    CompletableFuture<Void> third = bucket.acquireAsync(7);
    time.set(9 * HOUR.toNanos());
    assertThat(bucket.tryAcquire(1)).as("the first waiters go first").isFalse();
    Awaitility.await().until(first::isDone);
    assertThat(second).isNotDone();
    time.addAndGet(HOUR.toNanos() * 4 / 10 - 1);
    assertThat(third.cancel(true)).isTrue();
    assertThat(second).isNotDone();
    time.incrementAndGet();
    assertThat(second.cancel(true)).isFalse();
    assertThat(second).isCompleted();
  }

  @Test
  void cancelOfALongWait_grantsNoTokensAccruedForIt() {
    AtomicLong time = new AtomicLong();
    TokenBucket bucket = bucket(new Limit.Balanced(10, 10, HOUR), 0, time::get);
    CompletableFuture<Void> big = bucket.acquireAsync(1_000);
    CompletableFuture<Void> behind = bucket.acquireAsync(10);
    time.set(50 * HOUR.toNanos());
    assertThat(big.cancel(true)).isTrue();
    assertThat(behind).isCompleted();
    assertThat(bucket.tryAcquire(1)).as("ten in this instant are enough").isFalse();
  }

  @Test
  void futureCompletedByItsCaller_leavesTheWaitingList() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> failed = bucket.acquireAsync(5);
    CompletableFuture<Void> completed = bucket.acquireAsync(5);
    assertThat(failed.completeExceptionally(new IllegalStateException())).isTrue();
    assertThat(completed.complete(null)).isTrue();
    assertThat(bucket.waiters()).isZero();
    assertThat(Threads.pendingAlarms(clock)).isZero();
    clock.advance(Duration.ofMillis(300));
    assertThat(bucket.available()).isEqualTo(3);
    assertThat(completed.completeExceptionally(new IllegalStateException())).isFalse();
  }

  @Test
  void fullWaitingList_refusesTheNextWaiter() {
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(new Limit.Balanced(1, 1, SECOND))
            .initialTokens(0)
            .maxWaiters(2)
            .clock(clock)
            .build();
    CompletableFuture<Void> first = bucket.acquireAsync(1);
    CompletableFuture<Void> second = bucket.acquireAsync(1);
    assertRefused(bucket.acquireAsync(1), Reason.TOO_MANY_WAITERS, "maxWaiters=2");
    second.cancel(true);
    assertThat(bucket.acquireAsync(1)).isNotDone();
    clock.advance(SECOND);
    assertThat(first).isCompleted();
    assertThat(bucket.waiters()).isEqualTo(1);
  }

  @Test
  void deadline_thatCannotBeMet_refusesAtOnce_andTakesNothing() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    assertThat(bucket.acquireAsync(5, Duration.ofMillis(499))).isCompletedWithValue(false);
    CompletableFuture<Boolean> inTime = bucket.acquireAsync(5, Duration.ofMillis(500));
    assertThat(bucket.acquireAsync(1, Duration.ZERO)).isCompletedWithValue(false);
    clock.advance(Duration.ofMillis(500));
    assertThat(inTime).isCompletedWithValue(true);
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void deadline_missedBecauseTheRateFell_expiresAndReturnsTheTokens() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Boolean> waiter = bucket.acquireAsync(5, SECOND);
    CompletableFuture<Void> patient = bucket.acquireAsync(1);
    bucket.reconfigure(Limit.perSecond(1));
    clock.advance(SECOND.minusNanos(1));
    assertThat(waiter).isNotDone();
    clock.advanceNanos(1);
    assertThat(waiter).isCompletedWithValue(false);
    assertThat(patient).as("one token has come, and now it is his").isCompleted();
    assertThat(bucket.available()).isZero();
  }

  @Test
  void deadline_onAManualBucket() {
    TokenBucket bucket = bucket(new Limit.Manual(5), 0, clock);
    assertThat(bucket.acquireAsync(1, Duration.ZERO)).isCompletedWithValue(false);
    CompletableFuture<Boolean> served = bucket.acquireAsync(1, SECOND);
    CompletableFuture<Boolean> late = bucket.acquireAsync(1, SECOND);
    bucket.replenish(1);
    assertThat(served).isCompletedWithValue(true);
    clock.advance(SECOND);
    assertThat(late).isCompletedWithValue(false);
    bucket.replenish(1);
    assertThat(bucket.available()).isEqualTo(1);
  }

  @Test
  void denyAll_refusesWaiters() {
    assertRefused(TokenBucket.perSecond(0).acquireAsync(1), Reason.DENIES_ALL, "denies everything");
  }

  @Test
  void debtBeyondTheBound_isRefused() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    assertRefused(
        bucket.acquireAsync(Long.MAX_VALUE), Reason.DEBT_OVERFLOW, "tokens=" + Long.MAX_VALUE);
    assertThat(bucket.available()).isEqualTo(10);
    CompletableFuture<Void> huge = bucket.acquireAsync(30_000_000_000L);
    assertRefused(bucket.acquireAsync(30_000_000_000L), Reason.DEBT_OVERFLOW, "tokens=30000000000");
    assertThat(huge.cancel(true)).isTrue();
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void debtBeyondTheLastInstant_isRefused() {
    // Clock readings wrap after 292 years: the third period of a century ends beyond that.
    TokenBucket bucket = bucket(new Limit.Strict(1, Duration.ofDays(36_525)), 1, clock);
    assertThat(bucket.tryAcquire()).isTrue();
    CompletableFuture<Void> second = bucket.acquireAsync(1);
    CompletableFuture<Void> third = bucket.acquireAsync(1);
    assertRefused(bucket.acquireAsync(1), Reason.DEBT_OVERFLOW, "tokens=1");
    clock.advance(Duration.ofDays(36_525));
    assertThat(second).isCompleted();
    clock.advance(Duration.ofDays(36_525));
    assertThat(third).isCompleted();
    assertThat(Threads.pendingAlarms(clock)).isZero();
  }

  @Test
  void waiterWithAReadingBeforeTheEpoch_isGranted() {
    Limit fast = new Limit.Balanced(10, 999_999_937, SECOND);
    AtomicLong nanos = new AtomicLong();
    TokenBucket bucket = bucket(fast, 10, nanos::get);
    long now = 100 * SECOND.toNanos();
    nanos.set(now);
    assertThat(bucket.tryAcquire(10)).isTrue();
    nanos.set(now - 2 * SECOND.toNanos());
    CompletableFuture<Void> late = bucket.acquireAsync(1);
    nanos.set(now + 100);
    assertThat(bucket.decide(10)).isInstanceOf(Decision.Denied.class); // serves waiters first
    assertThat(late).succeedsWithin(Duration.ofSeconds(30));
  }

  @Test
  void callback_canGrantAndAwaitTheNextWaiter() {
    TokenBucket bucket = bucket(new Limit.Manual(10), 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(1);
    CompletableFuture<Void> second = bucket.acquireAsync(1);
    CompletableFuture<Void> both =
        first.thenRun(
            () -> {
              bucket.replenish(1);
              second.join();
            });
    bucket.replenish(1);
    assertThat(both).isCompleted();
  }

  @Test
  void clockThatFails_doesNotLockTheList() {
    AtomicInteger readings = new AtomicInteger(Integer.MAX_VALUE);
    TokenBucket bucket =
        bucket(
            Limit.perSecond(1),
            0,
            () -> {
              if (readings.getAndDecrement() <= 0) {
                throw new IllegalStateException("broken clock");
              }
              return 0;
            });
    readings.set(1); // the second one is made under the lock
    assertThatThrownBy(() -> bucket.acquireAsync(1)).hasMessage("broken clock");
    readings.set(Integer.MAX_VALUE);
    assertThat(CompletableFuture.supplyAsync(bucket::waiters).join()).isEqualTo(1);
  }

  @Test
  void waitersOutliveAnEpoch() {
    // 999,983/s: an epoch lasts 19 minutes; the waiter waits for 1000 s twice over.
    Limit limit = new Limit.Balanced(999_983, 999_983, SECOND);
    TokenBucket bucket = bucket(limit, 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(999_983_000L);
    CompletableFuture<Void> second = bucket.acquireAsync(999_983_000L);
    // Moves the epoch while both wait, by a request that is granted after them.
    clock.advance(Duration.ofSeconds(1_000));
    assertThat(first).isCompleted();
    clock.advance(Duration.ofSeconds(999));
    CompletableFuture<Void> third = bucket.acquireAsync(1);
    clock.advance(Duration.ofSeconds(1).minusNanos(1));
    assertThat(second).isNotDone();
    clock.advanceNanos(1);
    assertThat(second).isCompleted();
    assertThat(third).isNotDone();
    clock.advanceNanos(1_001);
    assertThat(third).isCompleted();
  }

  @Test
  void negative_isRejected() {
    TokenBucket bucket = bucket(Limit.perSecond(10), 10, clock);
    assertThatIllegalArgumentException().isThrownBy(() -> bucket.acquireAsync(-1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> bucket.acquireAsync(1, Duration.ofNanos(-1)))
        .withMessageContaining("maxWait");
    assertThatIllegalArgumentException().isThrownBy(() -> bucket.acquire(-1));
  }

  @Test
  void blocking_waitsForItsTokens() throws Exception {
    TokenBucket bucket = TokenBucket.of(new Limit.Balanced(1, 50, SECOND));
    long start = System.nanoTime();
    for (int i = 0; i < 6; i++) {
      bucket.acquire(1);
    }
    assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(100 * MS);
    assertThat(bucket.acquire(1, Duration.ofSeconds(5))).isTrue();
    assertThat(bucket.acquire(100, Duration.ofMillis(1))).isFalse();
  }

  @Test
  void blocking_refusals() {
    TokenBucket bucket =
        TokenBucket.builder().limit(Limit.manual(1)).initialTokens(0).maxWaiters(0).build();
    assertThatThrownBy(() -> bucket.acquire(1))
        .isInstanceOf(AcquireRejectedException.class)
        .hasMessageContaining("maxWaiters=0");
    assertThatThrownBy(() -> bucket.acquire(1, SECOND))
        .isInstanceOf(AcquireRejectedException.class);
  }

  @Test
  void blocking_interrupted_leavesTheList() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(5), 0, clock);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                bucket.acquire(3);
              } catch (InterruptedException | RuntimeException e) {
                thrown.set(e);
              }
            });
    thread.start();
    Awaitility.await().until(() -> bucket.waiters() == 1);
    thread.interrupt();
    thread.join();
    assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
    assertThat(bucket.waiters()).isZero();
    bucket.replenish(3);
    assertThat(bucket.available()).isEqualTo(3);
  }

  private static void assertRefused(CompletableFuture<Void> future, Reason reason, String message) {
    assertThat(future).isCompletedExceptionally();
    assertThatThrownBy(future::get)
        .cause()
        .isInstanceOfSatisfying(
            AcquireRejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(message);
  }
}
