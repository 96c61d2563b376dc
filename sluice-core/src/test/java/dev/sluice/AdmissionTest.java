package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.bucket.AtomicTokenBucket;
import dev.sluice.internal.bucket.Cell;
import dev.sluice.internal.bucket.UnitScale;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The state of a bucket's word while arrivals are admitted, and without waiters. */
@Timeout(60)
final class AdmissionTest {
  /** Beyond the horizon of a bucket that began at 0: its cell is replaced on the way. */
  private static final long FAR_NANOS = Long.MAX_VALUE / 2;

  private static AtomicTokenBucket manual(NanoClock clock) {
    return (AtomicTokenBucket) bucket(new Limit.Manual(10), 5, clock);
  }

  @Test
  void refusedCaller_leavesTheBucketFree() {
    AtomicTokenBucket bucket = manual(ManualClock.create());
    assertThat(bucket.acquireAsync(6, Duration.ZERO)).isCompletedWithValue(false);
    assertThat(bucket.take(1, 0)).as("taken without the list").isNotNegative();
  }

  @Test
  void lastCanceledCaller_leavesTheBucketFree() {
    AtomicTokenBucket bucket = manual(ManualClock.create());
    assertThat(bucket.acquireAsync(6).cancel(false)).isTrue();
    assertThat(bucket.take(1, 0)).as("taken without the list").isNotNegative();
  }

  @Test
  void lastGrantedCaller_leavesTheBucketFree() {
    AtomicTokenBucket bucket = manual(ManualClock.create());
    CompletableFuture<Void> served = bucket.acquireAsync(6);
    bucket.replenish(2);
    assertThat(served).isCompleted();
    assertThat(bucket.take(1, 0)).as("taken without the list").isNotNegative();
  }

  @Test
  void listThatMoves_keepsArrivals() {
    AtomicTokenBucket bucket = manual(ManualClock.create());
    assertThat(bucket.arrive()).isTrue();
    assertThat(bucket.openWaitingList()).isTrue();
    assertThat(bucket.arrive()).isTrue();
    assertThat(bucket.moveWaitingList(bucket.fullAt(), false)).isTrue();
    assertThat(bucket.hasArrivals()).isTrue();
  }

  @Test
  void limitThatChanges_keepsArrivals() {
    AtomicTokenBucket bucket = manual(ManualClock.create());
    assertThat(bucket.arrive()).isTrue();
    assertThat(bucket.change(bucket, UnitScale.of(new Limit.Manual(20)), 0)).isTrue();
    assertThat(bucket.latest()).isNotSameAs(bucket);
    assertThat(bucket.latest().hasArrivals()).isTrue();
  }

  /** The thread that admits the first of two holds the lock when the second comes. */
  @Test
  void callerDuringAdmissionByTheLibrary_isAdmittedToo() {
    HoldingClock clock = new HoldingClock();
    TokenBucket bucket = bucket(new Limit.Balanced(1_000, 1, Duration.ofDays(1)), 0, clock);
    CompletableFuture<Void> waiting = bucket.acquireAsync(10);
    CompletableFuture<Void> held = clock.hold(bucket);
    CompletableFuture<Boolean> first = bucket.acquireAsync(1, Duration.ZERO);
    clock.holdLibraryAfter(1);
    clock.release.countDown();
    held.join();
    clock.awaitHeldLibrary();
    CompletableFuture<Boolean> second = bucket.acquireAsync(1, Duration.ZERO);
    assertThat(second).as("the lock is held").isNotDone();
    clock.releaseLibrary();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(second::isDone);
    assertThat(first).isCompletedWithValue(false);
    assertThat(second).isCompletedWithValue(false);
    assertThat(waiting).isNotDone();
  }

  /** A caller that joins admits 64 others, who are all refused; the rest must not be forgotten. */
  @Test
  void arrivalsLeftOver_keepTheBucketFromBeingFreed() {
    HoldingClock clock = new HoldingClock();
    AtomicTokenBucket bucket = manual(clock);
    CompletableFuture<Void> held =
        clock.holdUnderLock(() -> bucket.reconfigure(new Limit.Manual(20)));
    List<CompletableFuture<Boolean>> hopeless = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      hopeless.add(bucket.acquireAsync(6, Duration.ZERO));
    }
    clock.holdLibrary();
    clock.release.countDown();
    held.join();
    hopeless.add(bucket.acquireAsync(6, Duration.ZERO));
    assertThat(bucket.latest().take(1, 0)).as("by those left over").isEqualTo(Cell.QUEUED);
    clock.releaseLibrary();
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(() -> hopeless.stream().allMatch(CompletableFuture::isDone));
    assertThat(bucket.available()).isEqualTo(5);
  }

  /** The first of two arrivals is served before the second is admitted: no caller comes between. */
  @Test
  void callerBetweenTwoAdmissions_doesNotGetAheadOfTheSecond() {
    HoldingClock clock = new HoldingClock();
    TokenBucket bucket = bucket(Limit.perSecond(20), 5, clock);
    CompletableFuture<Void> held =
        clock.holdUnderLock(() -> bucket.reconfigure(Limit.perSecond(10)));
    CompletableFuture<Boolean> refused = bucket.acquireAsync(6, Duration.ZERO);
    CompletableFuture<Void> first = bucket.acquireAsync(1);
    CompletableFuture<Void> second = clock.at(FAR_NANOS, () -> bucket.acquireAsync(1));
    clock.holdLibrary();
    clock.release.countDown();
    held.join();
    CompletableFuture<Void> admitting = clock.hold(bucket::waiters);
    CompletableFuture<Void> between = clock.at(FAR_NANOS, () -> bucket.acquireAsync(10));
    assertThat(between).as("ahead of the second").isNotDone();
    clock.release.countDown();
    admitting.join();
    clock.releaseLibrary();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(second::isDone);
    assertThat(first).isCompleted();
    assertThat(second).isCompleted();
    assertThat(between).isNotDone();
    assertThat(refused).isCompletedWithValue(false);
  }
}
