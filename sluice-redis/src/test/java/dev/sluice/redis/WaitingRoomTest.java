package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.testkit.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waiting for a bucket, in memory and in Redis alike. */
@Timeout(60)
class WaitingRoomTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Limit TWO_FAST = new Limit.Balanced(2, 50, Duration.ofSeconds(1));
  private static RedisServer redis;

  @BeforeAll
  static void start() {
    redis = RedisServer.start();
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  private static SharedLimits open(boolean inRedis) {
    return inRedis ? SharedLimits.connect(redis.uri()) : SharedLimits.inMemory();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void consume_servesInOrder(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedBucket bucket = limits.bucket("order", TWO_FAST);
      List<Integer> served = Collections.synchronizedList(new ArrayList<>());
      List<CompletableFuture<Void>> all = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        int number = i;
        all.add(
            bucket
                .consume(1, LONG)
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
      SharedBucket bucket = limits.bucket("late", Limit.per(1, Duration.ofHours(1)));
      assertThat(bucket.blocking().consume(1, Duration.ZERO.plusMillis(500))).isTrue();
      assertThat(bucket.blocking().consume(1, Duration.ofMillis(20))).isFalse();
      assertThat(bucket.blocking().consume(2, LONG)).isFalse();
      assertThat(bucket.consume(0, Duration.ZERO).join()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cancelledWaiter_letsTheNextGo(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedBucket bucket = limits.bucket("cancel", TWO_FAST);
      CompletableFuture<Boolean> both = bucket.consume(2, LONG);
      CompletableFuture<Boolean> gone = bucket.consume(2, LONG);
      CompletableFuture<Boolean> next = bucket.consume(2, LONG);
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
      SharedBucket bucket = limits.bucket("interrupt", Limit.per(1, Duration.ofSeconds(20)));
      assertThat(bucket.blocking().tryConsume()).isTrue();
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> bucket.blocking().consume(1, LONG))
          .isInstanceOf(InterruptedException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void negativeArguments_areRefused(boolean inRedis) {
    try (SharedLimits limits = open(inRedis)) {
      SharedBucket bucket = limits.bucket("negative", TWO_FAST);
      assertThatIllegalArgumentException().isThrownBy(() -> bucket.consume(-1, LONG));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> bucket.consume(1, Duration.ofMillis(-1)));
    }
  }
}
