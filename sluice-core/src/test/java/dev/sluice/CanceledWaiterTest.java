package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static dev.sluice.HoldingClock.awaitQuietly;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Callers that leave the waiting list before they are served, in any way. */
@Timeout(60)
final class CanceledWaiterTest {
  private static final NanoClock CLOCK = NanoClock.system();

  /**
   * The caller behind is served when the large one leaves; its callback blocks until that one is
   * done.
   */
  @Test
  void canceledWaiter_completesBeforeCallbacksOfOthersRun() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(10), 1, CLOCK);
    CompletableFuture<Void> large = bucket.acquireAsync(5);
    CompletableFuture<Boolean> behind = bucket.acquireAsync(1).thenApply(served -> isOver(large));
    CompletableFuture<Void> leaving = Threads.beside(() -> large.cancel(false));
    assertThat(behind.get(30, TimeUnit.SECONDS)).isTrue();
    leaving.join();
  }

  @Test
  void expiredWaiter_completesBeforeCallbacksOfOthersRun() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(10), 1, CLOCK);
    CompletableFuture<Boolean> large = bucket.acquireAsync(5, Duration.ofMillis(50));
    CompletableFuture<Boolean> behind = bucket.acquireAsync(1).thenApply(served -> isOver(large));
    assertThat(behind.get(30, TimeUnit.SECONDS)).isTrue();
  }

  /** Says whether {@code future} completes soon; it cannot while it waits for this callback. */
  private static boolean isOver(CompletableFuture<?> future) {
    try {
      future.get(5, TimeUnit.SECONDS);
      return true;
    } catch (InterruptedException | TimeoutException e) {
      return false;
    } catch (ExecutionException | CancellationException e) {
      return true;
    }
  }

  /** A callback of the one who leaves blocks; the other one has its tokens all the same. */
  @Test
  void callbackOfACanceledCaller_doesNotDelayWaitersGrantedThereby() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(10), 1, CLOCK);
    CountDownLatch release = new CountDownLatch(1);
    CompletableFuture<Void> large = bucket.acquireAsync(5);
    CompletableFuture<Void> told = large.whenComplete((done, e) -> awaitQuietly(release));
    CompletableFuture<Void> behind = bucket.acquireAsync(1);
    CompletableFuture<Void> leaving = Threads.beside(() -> large.cancel(false));
    behind.get(30, TimeUnit.SECONDS);
    assertThat(told).isNotDone();
    release.countDown();
    leaving.join();
  }

  static Stream<Consumer<CompletableFuture<Void>>> waysToLeave() {
    return Stream.of(
        future -> future.cancel(false),
        future -> future.complete(null),
        future -> future.completeExceptionally(new IllegalStateException("enough")),
        future -> future.completeAsync(() -> null, Runnable::run),
        future ->
            future.completeAsync(
                () -> {
                  throw new IllegalStateException("enough");
                },
                Runnable::run),
        future -> future.obtrudeValue(null),
        future -> future.obtrudeException(new IllegalStateException("enough")));
  }

  @ParameterizedTest
  @MethodSource("waysToLeave")
  void futureCompletedByItsCaller_returnsThePromisedTokens(Consumer<CompletableFuture<Void>> way) {
    TokenBucket bucket = bucket(new Limit.Manual(10), 1, ManualClock.create());
    CompletableFuture<Void> leaving = bucket.acquireAsync(5);
    CompletableFuture<Void> behind = bucket.acquireAsync(1);
    way.accept(leaving);
    assertThat(leaving).isDone();
    assertThat(behind).isCompleted();
    assertThat(bucket.waiters()).isZero();
    bucket.replenish(7);
    assertThat(bucket.available()).isEqualTo(7);
  }

  /** The clock is code of the user that runs under the lock. */
  @Test
  void clockThatThrows_releasesTheLock() throws Exception {
    AtomicBoolean broken = new AtomicBoolean();
    AtomicInteger ownReadings = new AtomicInteger();
    Thread own = Thread.currentThread();
    AtomicLong nanos = new AtomicLong();
    TokenBucket bucket =
        bucket(
            Limit.perSecond(10),
            0,
            () -> {
              boolean mayRead = Thread.currentThread() == own && ownReadings.decrementAndGet() >= 0;
              if (broken.get() && !mayRead) {
                throw new IllegalStateException("the clock is broken");
              }
              return nanos.get();
            });
    CompletableFuture<Void> first = bucket.acquireAsync(1);
    CompletableFuture<Void> second = bucket.acquireAsync(1);
    broken.set(true);
    ownReadings.set(1); // the second one is made under the lock
    assertThatThrownBy(() -> bucket.replenish(1)).isInstanceOf(IllegalStateException.class);
    nanos.set(200_000_000);
    ownReadings.set(1);
    assertThatThrownBy(() -> bucket.decide(1)).isInstanceOf(IllegalStateException.class);
    broken.set(false);
    CompletableFuture<Void> elsewhere = Threads.beside(() -> bucket.replenish(1));
    elsewhere.get(30, TimeUnit.SECONDS);
    first.get(30, TimeUnit.SECONDS);
    second.get(30, TimeUnit.SECONDS);
  }
}
