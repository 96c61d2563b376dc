package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.AcquireRejectedException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callers that join a waiting list do not wait for its lock, and keep their order. */
@Timeout(120)
final class ArrivalsTest {
  private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

  private static ConditionFactory patiently() {
    return Awaitility.await().atMost(60, TimeUnit.SECONDS);
  }

  static Reason refusal(CompletableFuture<Void> future) {
    try {
      future.join();
      throw new AssertionError("granted");
    } catch (CompletionException e) {
      return ((AcquireRejectedException) e.getCause()).reason();
    }
  }

  @Test
  void acquireWhileTheLockIsHeld_returnsAtOnceAndKeepsTheOrder() {
    HoldingClock clock = new HoldingClock();
    TokenBucket bucket = bucket(Limit.perSecond(10), 0, clock);
    CompletableFuture<Void> first = bucket.acquireAsync(2);
    CompletableFuture<Void> held = clock.hold(bucket);
    List<CompletableFuture<Void>> joined = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      joined.add(bucket.acquireAsync(1)); // would never return if it waited for the lock
    }
    CompletableFuture<Boolean> hopeless = bucket.acquireAsync(1, Duration.ofMillis(1));
    AtomicLong refusedBy = new AtomicLong();
    CompletableFuture<Boolean> told =
        hopeless.whenComplete((done, e) -> refusedBy.set(Thread.currentThread().getId()));
    assertThat(hopeless).isNotDone();
    clock.release.countDown();
    held.join();
    patiently().until(told::isDone);
    assertThat(hopeless).isCompletedWithValue(false);
    assertThat(refusedBy.get()).isNotEqualTo(Thread.currentThread().getId());
    assertThat(bucket.waiters()).isEqualTo(101);
    bucket.reconfigure(new Limit.Manual(1_000));
    bucket.replenish(1); // beside the one that it was given above
    for (int served = 10; served <= 100; served += 10) {
      bucket.replenish(10);
      int count = served;
      patiently().until(() -> done(joined) == count);
      assertThat(joined.subList(0, served)).allMatch(CompletableFuture::isDone);
    }
    assertThat(first).isCompleted();
  }

  /** No timer and no later call: only the thread that held the lock can see to the caller. */
  @Test
  void acquireWhileALimitChanges_isAnsweredAfterwards() {
    HoldingClock clock = new HoldingClock();
    TokenBucket bucket = bucket(new Limit.Manual(10), 0, clock);
    CompletableFuture<Void> held =
        clock.holdUnderLock(() -> bucket.reconfigure(new Limit.Manual(20)));
    CompletableFuture<Boolean> hopeless = bucket.acquireAsync(1, Duration.ZERO);
    CompletableFuture<Void> waiting = bucket.acquireAsync(15);
    assertThat(hopeless).isNotDone();
    clock.release.countDown();
    held.join();
    patiently().until(hopeless::isDone);
    assertThat(hopeless).isCompletedWithValue(false);
    bucket.replenish(15);
    assertThat(waiting).isCompleted();
    assertThat(bucket.available()).isZero();
  }

  @Test
  void arrivalsWhileTheLockIsHeld_areBounded() {
    HoldingClock clock = new HoldingClock();
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(Limit.perSecond(10))
            .initialTokens(0)
            .clock(clock)
            .maxWaiters(3)
            .build();
    assertThat(bucket.acquireAsync(10)).isNotDone();
    CompletableFuture<Void> held = clock.hold(bucket);
    List<CompletableFuture<Void>> joined = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      joined.add(bucket.acquireAsync(1));
    }
    assertThat(joined).noneMatch(CompletableFuture::isDone);
    assertThat(refusal(bucket.acquireAsync(1))).isEqualTo(Reason.TOO_MANY_WAITERS);
    clock.release.countDown();
    held.join();
    assertThat(bucket.waiters()).isEqualTo(3);
    patiently().until(() -> joined.stream().filter(CompletableFuture::isDone).count() == 998);
    assertThat(joined.subList(0, 2)).noneMatch(CompletableFuture::isDone);
    assertThat(refusal(joined.get(2))).isEqualTo(Reason.TOO_MANY_WAITERS);
  }

  /** More are due than one caller serves on its way into the list. */
  @Test
  void joinWhenManyAreDue_leavesNoWaiterBehind() {
    AtomicLong nanos = new AtomicLong();
    TokenBucket bucket =
        bucket(new Limit.Balanced(1_000, 1_000, Duration.ofSeconds(1)), 0, nanos::get);
    List<CompletableFuture<Void>> due = new ArrayList<>();
    for (int i = 0; i < 900; i++) {
      due.add(bucket.acquireAsync(1));
    }
    nanos.set(SECOND_NANOS);
    CompletableFuture<Void> last = bucket.acquireAsync(1);
    patiently().until(last::isDone);
    patiently().until(() -> due.stream().allMatch(CompletableFuture::isDone));
    assertThat(bucket.available()).isEqualTo(99);
  }

  @Test
  void threadsThatJoinTogether_areServedInTheirOrder() {
    int threads = 4;
    int each = 5_000;
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(Limit.manual(1_000_000))
            .initialTokens(0)
            .maxWaiters(100_000)
            .build();
    List<List<CompletableFuture<Void>>> byThread = new ArrayList<>();
    AtomicLong next = new AtomicLong();
    for (int i = 0; i < threads; i++) {
      byThread.add(new ArrayList<>());
    }
    sumOver(
        threads,
        () -> {
          List<CompletableFuture<Void>> mine = byThread.get((int) next.getAndIncrement());
          for (int i = 0; i < each; i++) {
            mine.add(bucket.acquireAsync(1));
          }
          return 0;
        });
    assertThat(bucket.waiters()).isEqualTo(threads * each);
    for (int fed = 1_000; fed <= threads * each; fed += 1_000) {
      bucket.replenish(1_000);
      int count = fed;
      patiently().until(() -> byThread.stream().mapToLong(ArrivalsTest::done).sum() == count);
      for (List<CompletableFuture<Void>> mine : byThread) {
        assertThat(mine.subList(0, (int) done(mine))).allMatch(CompletableFuture::isDone);
      }
    }
    assertThat(bucket.available()).isZero();
  }

  private static long done(List<CompletableFuture<Void>> futures) {
    return futures.stream().filter(CompletableFuture::isDone).count();
  }

  /**
   * A caller that joined and then gets a token at once must have been granted those it waited for.
   * The line runs empty all the time, which is where an arrival could be overlooked.
   */
  @Test
  void callerThatJoined_isNotOvertakenWithoutWaiting() {
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(Limit.manual(Limit.MAX_CAPACITY))
            .initialTokens(0)
            .maxWaiters(100_000)
            .build();
    AtomicBoolean done = new AtomicBoolean();
    AtomicLong fed = new AtomicLong();
    CompletableFuture<Void> feeder =
        Threads.beside(
            () -> {
              while (!done.get()) {
                bucket.replenish(2);
                fed.addAndGet(2);
              }
            });
    AtomicLong overtaken = new AtomicLong();
    long taken;
    try {
      taken =
          sumOver(
              3,
              () -> {
                long count = 0;
                for (int i = 0; i < 30_000; i++) {
                  CompletableFuture<Void> waiting = bucket.acquireAsync(1);
                  boolean took = bucket.tryAcquire(1);
                  count += took ? 1 : 0;
                  if (waiting.cancel(false)) {
                    overtaken.addAndGet(took ? 1 : 0);
                  } else {
                    count++;
                  }
                }
                return count;
              });
    } finally {
      done.set(true);
      feeder.join();
    }
    assertThat(overtaken).hasValue(0);
    assertThat(bucket.waiters()).isZero();
    assertThat(taken + bucket.available()).isEqualTo(fed.get());
  }
}
