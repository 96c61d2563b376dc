package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Events, counters and resources over the life of shared limits. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class LifecycleTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Far longer than anything takes on a busy machine. */
  private static final Duration TIMEOUT = Duration.ofMinutes(1);

  private static final Limit LIMIT = new Limit.Balanced(1_000, 1_000, Duration.ofSeconds(1));

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(
            thread ->
                thread.getName().startsWith("sluice-redis")
                    || thread.getName().startsWith("lettuce"))
        .collect(Collectors.toSet());
  }

  private static void assertGone(Set<Thread> before) {
    Await.until("threads that end", PATIENCE, () -> before.containsAll(threads()));
  }

  private static SharedLimits open(RedisServer server) {
    return SharedLimits.builder().url(server.uri()).timeout(TIMEOUT).build();
  }

  /** Without waiting for answers. */
  private static void assertClosesQuickly(SharedLimits limits) {
    long start = System.nanoTime();
    limits.close();
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TIMEOUT.dividedBy(2));
  }

  @Test
  void close_whileRedisAnswers_leavesNoThreadAndAnswersByPolicy() {
    Set<Thread> before = threads();
    try (RedisServer server = RedisServer.start()) {
      SharedLimits limits = open(server);
      SharedTokenBucket.Blocking exact = limits.bucket("b", LIMIT).blocking();
      SharedTokenBucket.Blocking open =
          limits
              .bucket("b", LIMIT, SharedLimitOptions.defaults().withOutageMode(OutageMode.OPEN))
              .blocking();
      assertThat(exact.tryAcquire()).isTrue();
      assertClosesQuickly(limits);
      limits.close();
      assertGone(before);
      assertThat(exact.decide(1)).isInstanceOf(Decision.Denied.class);
      assertThat(open.tryAcquire()).isTrue();
      assertThatThrownBy(exact::available).isInstanceOf(RedisUnavailableException.class);
      assertThat(limits.status().available()).isFalse();
      assertThat(limits.status().outages()).isZero();
    }
  }

  @Test
  void close_whileRedisIsAway_leavesNoThread() {
    Set<Thread> before = threads();
    try (RedisServer server = RedisServer.start()) {
      SharedLimits limits = open(server);
      server.kill();
      Await.until(
          "the loss",
          PATIENCE,
          () -> {
            limits.bucket("b", LIMIT).blocking().tryAcquire();
            return !limits.status().available();
          });
      assertClosesQuickly(limits);
      assertGone(before);
    }
  }

  @Test
  void close_withCallsOnTheirWay_endsThemAtOnce() throws Exception {
    Set<Thread> before = threads();
    try (RedisServer server = RedisServer.start()) {
      SharedLimits limits = open(server);
      SharedTokenBucket bucket = limits.bucket("b", LIMIT);
      assertThat(bucket.blocking().tryAcquire()).isTrue();
      server.pause();
      List<CompletableFuture<?>> calls = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        calls.add(bucket.tryAcquire());
      }
      CompletableFuture<Long> level = bucket.available();
      assertClosesQuickly(limits);
      CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new)).get(30, TimeUnit.SECONDS);
      assertThat(level).failsWithin(TIMEOUT.dividedBy(2));
      assertGone(before);
    }
  }

  @Test
  void events_ofSeveralOutages_comeInOrderAndAgreeWithTheStatus() {
    try (RedisServer server = RedisServer.builder().data().start();
        FleetNode node = FleetNode.patient(server.uri(), "e:", LIMIT)) {
      int calls = 0;
      for (int i = 0; i < 3; i++) {
        calls += takeUntil(node, FleetNode.Judge.REDIS);
        server.kill();
        calls += takeUntil(node, FleetNode.Judge.SHARE);
        server.restart();
        Await.until("the return", PATIENCE, () -> node.status().available());
      }
      Await.until("events", PATIENCE, () -> node.events().size() == 6);
      for (int i = 0; i < 6; i++) {
        assertThat(node.events().get(i).kind())
            .isEqualTo(i % 2 == 0 ? RecordedOutages.Kind.STARTED : RecordedOutages.Kind.ENDED);
      }
      SharedLimitsStatus status = node.status();
      assertThat(status.outages()).isEqualTo(3);
      // Before the node grants by itself, calls that Redis misses are denied.
      assertThat(status.fromRedis() + status.local() + status.closed()).isEqualTo(calls);
      assertThat(status.open() + status.fromBlocks()).isZero();
      assertThat(node.grantedByShare()).isPositive();
    }
  }

  /** Takes tokens until one is granted by that judge; how many calls it took. */
  private static int takeUntil(FleetNode node, FleetNode.Judge judge) {
    int[] calls = {0};
    Await.until(
        "a grant by " + judge,
        PATIENCE,
        () -> {
          calls[0]++;
          FleetNode.Answer answer = node.take();
          return answer.granted() && answer.judge() == judge;
        });
    return calls[0];
  }

  @Test
  void refused_byRedis_isAnEventAndNotAnOutage() {
    try (RedisServer server = RedisServer.start();
        FleetNode node = FleetNode.patient(server.uri(), "r:", LIMIT)) {
      server.command("DEL", node.place());
      server.command("LPUSH", node.place(), "something else");
      Await.until(
          "the event",
          PATIENCE,
          () -> {
            assertThat(node.take().granted()).isFalse();
            return !node.events().isEmpty();
          });
      assertThat(node.events().get(0).kind()).isEqualTo(RecordedOutages.Kind.ERROR);
      assertThat(node.events().get(0).text()).contains("WRONGTYPE");
      server.command("DEL", node.place());
      takeUntil(node, FleetNode.Judge.REDIS);
      assertThat(node.status().outages()).isZero();
    }
  }
}
