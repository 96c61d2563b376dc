package dev.sluice;

import static dev.sluice.ExtremesTest.bucket;
import static dev.sluice.Threads.sumOver;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The waiting line under real threads and the real timer. */
@Timeout(120)
final class WaitingListStressTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final long MS = 1_000_000;

  /** An empty manual bucket for so many callers at once. */
  private static TokenBucket emptyManual(int callers) {
    return TokenBucket.builder()
        .limit(Limit.manual(callers))
        .initialTokens(0)
        .maxWaiters(callers)
        .build();
  }

  /** On a busy machine another thread takes over callbacks that take long, so both tests wait. */
  @Test
  void callbacksThatReplenish_doNotGrowTheStack() throws Exception {
    int callers = 20_000;
    TokenBucket bucket = emptyManual(callers);
    List<CompletableFuture<Void>> done = new ArrayList<>();
    for (int i = 0; i < callers; i++) {
      done.add(bucket.acquireAsync(1).thenRun(() -> bucket.replenish(1)));
    }
    bucket.replenish(1);
    allOf(done).get(60, TimeUnit.SECONDS);
    assertThat(bucket.waiters()).isZero();
    assertThat(bucket.available()).isEqualTo(1);
  }

  @Test
  void callersThatAcquireAgainTogether_areAllServed() throws Exception {
    int callers = 5_000;
    TokenBucket bucket = emptyManual(callers);
    List<CompletableFuture<Void>> second = new ArrayList<>();
    for (int i = 0; i < callers; i++) {
      second.add(bucket.acquireAsync(1).thenCompose(first -> bucket.acquireAsync(1)));
    }
    bucket.replenish(callers);
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> bucket.available() == 0 && bucket.waiters() == callers);
    bucket.replenish(callers);
    allOf(second).get(60, TimeUnit.SECONDS);
  }

  private static CompletableFuture<Void> allOf(List<CompletableFuture<Void>> futures) {
    return CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new));
  }

  @Test
  void callbacksThatBlock_doNotDelayAWaitingThread() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(100), 0, NanoClock.system());
    CountDownLatch release = new CountDownLatch(1);
    List<CompletableFuture<Void>> stuck = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      stuck.add(bucket.acquireAsync(1).thenRun(() -> awaitQuietly(release)));
    }
    bucket.reconfigure(hundredPerSecond());
    bucket.acquire(1);
    release.countDown();
    allOf(stuck).get(30, TimeUnit.SECONDS);
  }

  /** A caller that comes when the turn of another has come, before any timer saw it. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void callerThatJoins_doesNotRunCallbacksOfOthers(boolean blocking) throws Exception {
    AtomicLong nanos = new AtomicLong();
    TokenBucket bucket = bucket(new Limit.Balanced(100, 1, Duration.ofHours(1)), 0, nanos::get);
    CountDownLatch release = new CountDownLatch(1);
    CompletableFuture<Void> stuck = bucket.acquireAsync(1).thenRun(() -> awaitQuietly(release));
    nanos.set(Duration.ofHours(1).toNanos());
    if (blocking) {
      assertThat(bucket.acquire(1, Duration.ofMillis(1))).isFalse();
    } else {
      assertThat(bucket.acquireAsync(1)).isNotDone();
    }
    assertThat(stuck).isNotDone();
    release.countDown();
    stuck.get(30, TimeUnit.SECONDS);
  }

  /** The rescue: a callback that blocks does not keep those behind it from their tokens. */
  @Test
  void aCallbackThatBlocks_doesNotDelayLaterWaiters() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(100), 0, NanoClock.system());
    CountDownLatch release = new CountDownLatch(1);
    CompletableFuture<Void> stuck = bucket.acquireAsync(1).thenRun(() -> awaitQuietly(release));
    bucket.reconfigure(hundredPerSecond());
    List<CompletableFuture<Void>> behind = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      behind.add(bucket.acquireAsync(1));
    }
    CompletableFuture.allOf(behind.toArray(CompletableFuture[]::new)).get(30, TimeUnit.SECONDS);
    assertThat(stuck).isNotDone();
    release.countDown();
    stuck.get(30, TimeUnit.SECONDS);
  }

  @Test
  void cancelStorm_conservesTokens() {
    // Fed by hand and never full: what was granted and what is left must add up to the feed.
    TokenBucket bucket =
        TokenBucket.builder()
            .limit(Limit.manual(Limit.MAX_CAPACITY))
            .initialTokens(0)
            .maxWaiters(100_000)
            .build();
    AtomicLong granted = new AtomicLong();
    Queue<CompletableFuture<Void>> counted = new ConcurrentLinkedQueue<>();
    AtomicLong fed = new AtomicLong();
    AtomicBoolean done = new AtomicBoolean();
    CompletableFuture<Void> feeder =
        Threads.beside(
            () -> {
              while (!done.get()) {
                bucket.replenish(7);
                fed.addAndGet(7);
              }
            });
    sumOver(
        4,
        () -> {
          ThreadLocalRandom random = ThreadLocalRandom.current();
          for (int i = 0; i < 20_000; i++) {
            long tokens = 1L + random.nextInt(20);
            CompletableFuture<Void> future = bucket.acquireAsync(tokens);
            if (random.nextBoolean() && future.cancel(true)) {
              continue;
            }
            counted.add(future.thenRun(() -> granted.addAndGet(tokens)));
          }
          return 0;
        });
    done.set(true);
    feeder.join();
    bucket.replenish(2_000_000);
    assertThat(bucket.waiters()).isZero();
    assertThat(counted).allMatch(future -> future.isDone() && !future.isCompletedExceptionally());
    assertThat(granted.get() + bucket.available()).isEqualTo(fed.get() + 2_000_000);
  }

  @Test
  void cancelRacingWithTheGrant_conservesTokensExactly() {
    for (int round = 0; round < 300; round++) {
      TokenBucket bucket =
          TokenBucket.builder().limit(Limit.manual(1_000_000)).initialTokens(0).build();
      List<CompletableFuture<Void>> futures = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        futures.add(bucket.acquireAsync(1 + i % 7));
      }
      long fed = 3 * 70;
      sumOver(
          3,
          () -> {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            for (int i = 0; i < 70; i++) {
              if (random.nextBoolean()) {
                futures.get(random.nextInt(futures.size())).cancel(true);
              }
              bucket.replenish(1);
            }
            return 0;
          });
      long granted = 0;
      long owed = 0;
      for (int i = 0; i < 100; i++) {
        CompletableFuture<Void> future = futures.get(i);
        if (!future.isDone()) {
          owed += 1 + i % 7;
        } else if (!future.isCancelled()) {
          granted += 1 + i % 7;
        }
      }
      bucket.replenish(1_000);
      assertThat(granted + owed + bucket.available()).isEqualTo(fed + 1_000);
    }
  }

  @Test
  void cancelRacingWithATimedGrant_neitherLosesNorMintsTokens() {
    TokenBucket bucket = bucket(new Limit.Balanced(100, 20_000, SECOND), 0, NanoClock.system());
    long start = System.nanoTime();
    long granted =
        sumOver(
            4,
            () -> {
              ThreadLocalRandom random = ThreadLocalRandom.current();
              long count = 0;
              while (System.nanoTime() - start < 1_000 * MS) {
                CompletableFuture<Void> future = bucket.acquireAsync(1);
                long patience = System.nanoTime() + random.nextInt(400_000);
                while (!future.isDone() && System.nanoTime() - patience < 0) {
                  Thread.onSpinWait();
                }
                if (!future.cancel(true)) {
                  future.join();
                  count++;
                }
              }
              return count;
            });
    double elapsed = (System.nanoTime() - start) / 1e9;
    assertThat((double) granted).isLessThanOrEqualTo(100 + 20_000 * elapsed + 1);
    assertThat(granted).isGreaterThan(1_000);
    assertThat(bucket.waiters()).isZero();
    assertThat(bucket.available()).isBetween(0L, 100L);
  }

  /** Interrupted or served, never both and never neither. */
  @Test
  void interruptRacingWithTheGrant_conservesTokens() {
    for (int round = 0; round < 1_000; round++) {
      TokenBucket bucket = bucket(new Limit.Manual(10), 0, NanoClock.system());
      AtomicBoolean interrupted = new AtomicBoolean();
      CountDownLatch started = new CountDownLatch(1);
      Thread[] waiting = new Thread[1];
      CompletableFuture<Void> waiter =
          Threads.beside(
              () -> {
                waiting[0] = Thread.currentThread();
                started.countDown();
                try {
                  bucket.acquire(3);
                } catch (InterruptedException e) {
                  interrupted.set(true);
                }
              });
      awaitQuietly(started);
      CompletableFuture<Void> feeder = Threads.beside(() -> bucket.replenish(3));
      waiting[0].interrupt();
      waiter.join();
      feeder.join();
      assertThat(bucket.available()).isEqualTo(interrupted.get() ? 3 : 0);
      assertThat(bucket.waiters()).isZero();
    }
  }

  @Test
  void realTimer_servesInOrder() throws Exception {
    TokenBucket bucket = bucket(new Limit.Manual(10), 0, NanoClock.system());
    List<Integer> order = new ArrayList<>();
    List<CompletableFuture<Void>> futures = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      int number = i;
      futures.add(
          bucket
              .acquireAsync(1)
              .thenRun(
                  () -> {
                    synchronized (order) {
                      order.add(number);
                    }
                  }));
    }
    bucket.reconfigure(new Limit.Balanced(10, 2_000, SECOND));
    CompletableFuture.allOf(futures.toArray(CompletableFuture[]::new)).get(30, TimeUnit.SECONDS);
    assertThat(order).hasSize(300).isSorted();
  }

  @Test
  void anUnreachableBucket_isCollected() throws Exception {
    TokenBucket idle = bucket(Limit.perSecond(100), 0, NanoClock.system());
    idle.acquireAsync(1).get(30, TimeUnit.SECONDS);
    idle.acquireAsync(1_000_000).cancel(true);
    TokenBucket unfed = bucket(new Limit.Manual(1), 0, NanoClock.system());
    assertThat(unfed.acquireAsync(1)).isNotDone();
    List<WeakReference<TokenBucket>> references =
        List.of(new WeakReference<>(idle), new WeakReference<>(unfed));
    idle = null;
    unfed = null;
    Awaitility.await()
        .atMost(30, TimeUnit.SECONDS)
        .until(
            () -> {
              System.gc();
              return references.stream().allMatch(r -> r.get() == null);
            });
  }

  /**
   * The refill of a bucket that starts without one: no token arrives before every callback is
   * attached, so that none of them runs on the thread of the test.
   */
  private static Limit hundredPerSecond() {
    return new Limit.Balanced(100, 100, SECOND);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
