package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.AcquireRejectedException;
import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.BucketWaiters;
import dev.sluice.redis.internal.limits.OutageDecisions;
import dev.sluice.redis.internal.limits.RedisTokenBucket;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiting for a bucket, in memory and in Redis alike. */
@Tag("any-jdk")
@Timeout(60)
class WaitingRoomTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

  /** Well before the first in line asks again by itself. */
  private static final Duration AT_ONCE = Duration.ofMillis(600);

  private static final int MOST = 10_000;
  private static final Limit TWO_FAST = new Limit.Balanced(2, 50, Duration.ofSeconds(1));
  private static final Limit TEN_SLOW = new Limit.Balanced(10, 1, Duration.ofHours(1));
  private static final AtomicInteger NAMES = new AtomicInteger();
  @AutoClose private static final RedisServer redis = RedisServer.start();

  private static SharedLimits open(boolean inRedis) {
    return inRedis ? patient(redis) : SharedLimits.inMemory();
  }

  /** With time enough for a busy machine, and for a server that is paused for a while. */
  private static SharedLimits patient(RedisServer server) {
    return SharedLimits.builder().url(server.uri()).timeout(LONG).build();
  }

  private static SharedTokenBucket slow(SharedLimits limits) {
    return limits.bucket("slow" + NAMES.incrementAndGet(), TEN_SLOW);
  }

  private static List<CompletableFuture<Boolean>> enter(SharedTokenBucket bucket, int count) {
    List<CompletableFuture<Boolean>> turns = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      turns.add(bucket.acquire(1, LONG));
    }
    return turns;
  }

  private static void assertAllServed(List<CompletableFuture<Boolean>> turns) {
    CompletableFuture<Void> all = CompletableFuture.allOf(turns.toArray(CompletableFuture[]::new));
    assertThat(all).succeedsWithin(LONG);
    assertThat(turns).allMatch(CompletableFuture::join);
  }

  /** Waits until the first in line has been denied; what it asks in memory is answered at once. */
  private static CompletableFuture<Boolean> denied(
      SharedLimits limits, SharedTokenBucket bucket, long tokens, Duration maxWait) {
    long before = limits.status().fromRedis();
    CompletableFuture<Boolean> turn = bucket.acquire(tokens, maxWait);
    if (bucket instanceof RedisTokenBucket) {
      Await.until("the denial", LONG, () -> limits.status().fromRedis() > before);
    }
    assertThat(turn).isNotDone();
    return turn;
  }

  /** At least one try of three is that quick: any of them may be held up by the machine. */
  private static void assertAtOnce(SharedLimits limits, Consumer<SharedTokenBucket> scene) {
    Duration fastest = LONG;
    for (int i = 0; i < 3 && fastest.compareTo(AT_ONCE) >= 0; i++) {
      SharedTokenBucket bucket = slow(limits);
      bucket.blocking().tryAcquire(5);
      long start = System.nanoTime();
      scene.accept(bucket);
      Duration took = Duration.ofNanos(System.nanoTime() - start);
      fastest = took.compareTo(fastest) < 0 ? took : fastest;
    }
    assertThat(fastest).isLessThan(AT_ONCE);
  }

  @Test
  void consume_ofBlocks_servesAllWaiters() {
    try (RedisServer server = RedisServer.start();
        SharedLimits limits = patient(server)) {
      SharedTokenBucket bucket =
          limits.bucket(
              "leased",
              new Limit.Rate(20_000, 100_000),
              SharedLimitOptions.defaults().withTokenBlocks());
      server.pause();
      List<CompletableFuture<Boolean>> turns = enter(bucket, 9_000);
      assertThat(((RedisTokenBucket) bucket).waiting()).isEqualTo(9_000);
      server.resume();
      assertAllServed(turns);
      assertThat(limits.status().fromBlocks()).isPositive();
      assertThat(((RedisTokenBucket) bucket).waiting()).isZero();
    }
  }

  @Test
  void consume_whenRedisDies_servesAllUnderOpen() {
    try (RedisServer server = RedisServer.start();
        SharedLimits limits = patient(server)) {
      SharedTokenBucket bucket =
          limits.bucket(
              "open", TEN_SLOW, SharedLimitOptions.defaults().withOutageMode(OutageMode.OPEN));
      assertThat(bucket.blocking().tryAcquire(10)).isTrue();
      CompletableFuture<Boolean> head = denied(limits, bucket, 1, LONG);
      List<CompletableFuture<Boolean>> turns = enter(bucket, 5_000);
      assertThat(turns).noneMatch(CompletableFuture::isDone);
      server.kill();
      assertThat(head).succeedsWithin(LONG).isEqualTo(true);
      assertAllServed(turns);
    }
  }

  /** How tokens come otherwise than by time. */
  private enum Source {
    REPLENISH,
    RESET,
    RECONFIGURE;

    void give(SharedTokenBucket.Blocking bucket) {
      switch (this) {
        case REPLENISH -> bucket.replenish(3);
        case RESET -> bucket.reset();
        case RECONFIGURE ->
            bucket.reconfigure(new Limit.Balanced(100, 1_000_000, Duration.ofSeconds(1)));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void tokensThatAreGiven_wakeTheFirst(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      for (Source source : Source.values()) {
        assertAtOnce(
            limits,
            bucket -> {
              CompletableFuture<Boolean> first = denied(limits, bucket, 8, FOREVER);
              source.give(bucket.blocking());
              assertThat(first).as("%s", source).succeedsWithin(LONG).isEqualTo(true);
            });
      }
    }
  }

  @Test
  void tokensThatAreGiven_whileTheFirstIsAskedFor_areNoticed() {
    try (SharedLimits limits = open(true)) {
      assertAtOnce(
          limits,
          bucket -> {
            for (int i = 0; i < 20; i++) {
              CompletableFuture<Boolean> first = bucket.acquire(8, FOREVER);
              CompletableFuture<Void> given = bucket.replenish(3);
              assertThat(first).succeedsWithin(LONG).isEqualTo(true);
              given.join();
              bucket.blocking().replenish(5);
            }
          });
    }
  }

  @Test
  void tokensOfAnotherNode_areNoticed() {
    try (SharedLimits limits = open(true);
        SharedLimits other = open(true)) {
      SharedTokenBucket bucket = slow(limits);
      bucket.blocking().tryAcquire(10);
      CompletableFuture<Boolean> first = denied(limits, bucket, 1, LONG);
      other.bucket(bucket.name(), TEN_SLOW).blocking().replenish(1);
      assertThat(first).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(true);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cancelledFirst_letsTheNextGoAtOnce(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      assertAtOnce(
          limits,
          bucket -> {
            CompletableFuture<Boolean> first = denied(limits, bucket, 8, FOREVER);
            CompletableFuture<Boolean> next = bucket.acquire(5, FOREVER);
            assertThat(first.cancel(true)).isTrue();
            assertThat(next).succeedsWithin(LONG).isEqualTo(true);
          });
    }
  }

  @Test
  void lateFirst_letsTheNextGoAtOnce() {
    try (SharedLimits limits = open(true)) {
      assertAtOnce(
          limits,
          bucket -> {
            CompletableFuture<Boolean> first = denied(limits, bucket, 8, Duration.ofMillis(100));
            CompletableFuture<Boolean> next = bucket.acquire(5, FOREVER);
            assertThat(first).succeedsWithin(LONG).isEqualTo(false);
            assertThat(next).succeedsWithin(LONG).isEqualTo(true);
          });
    }
  }

  @Test
  void cancelledWaiters_areForgotten() {
    try (SharedLimits limits = open(true)) {
      RedisTokenBucket bucket = (RedisTokenBucket) slow(limits);
      bucket.blocking().tryAcquire(10);
      CompletableFuture<Boolean> first = denied(limits, bucket, 1, FOREVER);
      long asked = limits.status().fromRedis();
      for (int i = 0; i < 200_000; i++) {
        bucket.acquire(1, FOREVER).cancel(true);
      }
      assertThat(bucket.waiting()).isEqualTo(1);
      assertThat(limits.status().fromRedis()).isLessThan(asked + 100);
      List<CompletableFuture<Boolean>> turns = enter(bucket, MOST - 1);
      assertThat(turns).noneMatch(CompletableFuture::isDone);
      assertThat(bucket.acquire(1, LONG))
          .failsWithin(LONG)
          .withThrowableThat()
          .withCauseInstanceOf(AcquireRejectedException.class);
      // A waiter that leaves may come back at once.
      CompletableFuture<Boolean> back =
          turns.get(7).exceptionallyCompose(left -> bucket.acquire(1, LONG));
      turns.get(7).cancel(true);
      assertThat(back).isNotDone();
      assertThat(bucket.waiting()).isEqualTo(MOST);
      assertThat(first.cancel(true)).isTrue();
      assertThat(bucket.waiting()).isEqualTo(MOST - 1);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void consume_forEver_waits(boolean inRedis) throws InterruptedException {
    try (SharedLimits limits = open(inRedis)) {
      SharedTokenBucket bucket = limits.bucket("forever", TWO_FAST);
      for (int i = 0; i < 5; i++) {
        assertThat(bucket.blocking().acquire(1, FOREVER)).isTrue();
      }
    }
  }

  @Test
  void grantForACanceledWaiter_isRefunded() throws Exception {
    try (RedisServer server = RedisServer.start();
        SharedLimits limits = patient(server)) {
      SharedTokenBucket bucket = limits.bucket("left", new Limit.Manual(5));
      assertThat(bucket.blocking().available()).isEqualTo(5);
      server.pause();
      CompletableFuture<Boolean> gone = bucket.acquire(3, LONG);
      CompletableFuture<Boolean> late = bucket.acquire(3, Duration.ofMillis(20));
      assertThat(late.get(LONG.toSeconds(), TimeUnit.SECONDS)).isFalse();
      assertThat(gone.cancel(true)).isTrue();
      server.resume();
      Await.until("the refund", LONG, () -> limits.status().fromRedis() == 1);
      Await.until("all tokens", LONG, () -> bucket.blocking().available() == 5);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void grantForACanceledWaiter_isRefundedIfItTookTokens(boolean tookTokens) {
    CompletableFuture<Decision> answer = new CompletableFuture<>();
    AtomicLong refunds = new AtomicLong();
    BucketWaiters room = new BucketWaiters(tokens -> answer, refunds::addAndGet, () -> false);
    assertThat(room.enter(3, LONG).cancel(true)).isTrue();
    CompletableFuture<Boolean> next = room.enter(1, LONG);
    answer.complete(tookTokens ? new Decision.Granted(0) : OutageDecisions.GRANTED);
    assertThat(next).as("comes after the refund").succeedsWithin(LONG).isEqualTo(true);
    assertThat(refunds).hasValue(tookTokens ? 3 : 0);
  }

  @Test
  void consume_ofTokensThatNeverAccrue_isRefusedAtOnce() {
    try (SharedLimits limits = open(true)) {
      SharedTokenBucket bucket = slow(limits);
      bucket.blocking().tryAcquire(10);
      CompletableFuture<Boolean> first = denied(limits, bucket, 1, FOREVER);
      assertThat(bucket.acquire(11, FOREVER)).isCompletedWithValue(false);
      assertThat(first).isNotDone();
      SharedTokenBucket manual = limits.bucket("manual", new Limit.Manual(2));
      assertThat(manual.acquire(2, FOREVER)).succeedsWithin(LONG).isEqualTo(true);
      assertThat(manual.acquire(1, FOREVER)).succeedsWithin(LONG).isEqualTo(false);
    }
  }

  @Test
  void consume_thatIsRefused_countsNoWaiter() {
    try (SharedLimits limits = open(true)) {
      RedisTokenBucket bucket = (RedisTokenBucket) slow(limits);
      for (int i = 0; i < 100; i++) {
        assertThatIllegalArgumentException().isThrownBy(() -> bucket.acquire(-1, LONG));
        assertThatIllegalArgumentException().isThrownBy(() -> bucket.acquire(1, FOREVER.negated()));
      }
      assertThat(bucket.waiting()).isZero();
      assertThat(bucket.acquire(1, LONG)).succeedsWithin(LONG).isEqualTo(true);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void consume_servesInOrder(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedTokenBucket bucket = limits.bucket("order", TWO_FAST);
      List<Integer> served = Collections.synchronizedList(new ArrayList<>());
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        int number = i;
        all.add(
            bucket
                .acquire(1, LONG)
                .thenAccept(
                    taken -> {
                      assertThat(taken).isTrue();
                      served.add(number);
                    }));
      }
      CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
      assertThat(served).isSorted().hasSize(20);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void consume_tooLate_takesNothing(boolean inRedis) throws InterruptedException {
    try (SharedLimits limits = open(inRedis)) {
      SharedTokenBucket bucket = limits.bucket("late", Limit.per(1, Duration.ofHours(1)));
      assertThat(bucket.blocking().acquire(1, Duration.ZERO.plusMillis(500))).isTrue();
      assertThat(bucket.blocking().acquire(1, Duration.ofMillis(20))).isFalse();
      assertThat(bucket.blocking().acquire(2, LONG)).isFalse();
      assertThat(bucket.acquire(0, Duration.ZERO).join()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cancelledWaiter_letsTheNextGo(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedTokenBucket bucket = limits.bucket("cancel", TWO_FAST);
      CompletableFuture<Boolean> both = bucket.acquire(2, LONG);
      CompletableFuture<Boolean> gone = bucket.acquire(2, LONG);
      CompletableFuture<Boolean> next = bucket.acquire(2, LONG);
      gone.cancel(true);
      assertThat(both.join()).isTrue();
      assertThat(next.join()).isTrue();
      assertThat(bucket.blocking().available()).isLessThanOrEqualTo(1);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void interruptedWaiter_takesNothing(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedTokenBucket bucket = limits.bucket("interrupt", Limit.per(1, Duration.ofSeconds(20)));
      assertThat(bucket.blocking().tryAcquire()).isTrue();
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> bucket.blocking().acquire(1, LONG))
          .isInstanceOf(InterruptedException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void negativeArguments_areRefused(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedTokenBucket bucket = limits.bucket("negative", TWO_FAST);
      assertThatIllegalArgumentException().isThrownBy(() -> bucket.acquire(-1, LONG));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> bucket.acquire(1, Duration.ofMillis(-1)));
    }
  }

  @Test
  void close_endsAllWaits() {
    SharedLimits limits = open(true);
    SharedTokenBucket bucket = limits.bucket("closing", Limit.per(1, Duration.ofHours(1)));
    assertThat(bucket.blocking().tryAcquire()).isTrue();
    CompletableFuture<Boolean> waiter = bucket.acquire(1, ChronoUnit.FOREVER.getDuration());
    limits.close();
    assertThat(waiter)
        .failsWithin(LONG)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOf(RedisUnavailableException.class);
  }
}
