package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.redis.internal.limits.LimitScript;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that go to Redis together are decided as if they had come one by one. */
@Tag("any-jdk")
@Timeout(60)
class BatchesTest {
  /** Calls after which the code that makes them is fast enough to be timed. */
  private static final int WARM_UP = 5_000;

  @AutoClose private static final RedisServer redis = RedisServer.start();

  /**
   * Limits that Redis decides, however busy the machine is: with the default time-outs it may be
   * held to be lost, also at the start.
   */
  private static SharedLimits patient(String url, Duration timeout) {
    SharedLimits limits = SharedLimits.builder().url(url).timeout(timeout).build();
    await().atMost(Duration.ofSeconds(60)).until(() -> limits.status().available());
    return limits;
  }

  private static SharedLimits patient(String url) {
    return patient(url, Duration.ofSeconds(60));
  }

  private static List<Limit> limits() {
    return List.of(
        new Limit.Balanced(30, 7, Duration.ofMillis(3)),
        new Limit.Rate(1234.5, 12.5),
        new Limit.Strict(20, Duration.ofMillis(2)),
        new Limit.Manual(300),
        new Limit.DenyAll());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4})
  void script_isTheCore(int kind) {
    Limit limit = limits().get(kind);
    String params = ScriptLimit.of(limit).params();
    Random random = new Random(kind);
    AtomicLong now = new AtomicLong();
    TokenBucket core = null;
    for (int round = 0; round < 100; round++) {
      List<String> words =
          new ArrayList<>(List.of("EVAL", LimitScript.DECIDE_BATCH.body(), "1", "many:" + kind));
      words.addAll(List.of("0", params));
      List<Long> tokens = random.longs(1 + random.nextInt(20), 1, 12).boxed().toList();
      tokens.forEach(count -> words.add(Long.toString(count)));
      words.addAll(Scripts.UNGUARDED);
      List<?> reply = (List<?>) Objects.requireNonNull(redis.command(words.toArray(String[]::new)));
      long nanos = number(reply, 0) * 1_000;
      if (core == null) {
        // The grid of a strict bucket starts with it.
        long start = nanos - nanos % 2_000_000;
        now.set(start);
        core = TokenBucket.builder().limit(limit).clock(now::get).build();
      }
      now.set(nanos);
      for (int i = 0; i < tokens.size(); i++) {
        Decision expected = core.decide(tokens.get(i));
        assertThat(decision(limit, number(reply, 2 + 2 * i), number(reply, 3 + 2 * i)))
            .isEqualTo(rounded(expected));
      }
    }
  }

  private static long number(List<?> reply, int index) {
    return (Long) Objects.requireNonNull(reply.get(index));
  }

  private static Decision decision(Limit limit, long outcome, long figure) {
    return switch ((int) outcome) {
      case 0 -> new Decision.Denied("", figure * 1_000);
      case 1 -> new Decision.Granted(figure);
      case 2 -> new Decision.Depleted("", figure);
      default -> new Decision.Impossible("", limit.capacity());
    };
  }

  /** To the microsecond, upwards. */
  private static Decision rounded(Decision decision) {
    return decision instanceof Decision.Denied denied
        ? new Decision.Denied("", (denied.retryAfterNanos() + 999) / 1_000 * 1_000)
        : decision;
  }

  @Test
  void manyAtOnce_getTheAvailableTokens_inFewCalls() {
    try (SharedLimits limits = patient(redis.uri())) {
      SharedTokenBucket bucket = limits.bucket("crowd", new Limit.Manual(5_000));
      redis.command("CONFIG", "RESETSTAT");
      List<CompletableFuture<Boolean>> all = new ArrayList<>();
      for (int round = 0; round < 10; round++) {
        List<CompletableFuture<Boolean>> now = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
          now.add(bucket.tryAcquire());
        }
        CompletableFuture.allOf(now.toArray(CompletableFuture[]::new)).join();
        all.addAll(now);
      }
      long granted = all.stream().filter(CompletableFuture::join).count();
      assertThat(limits.status().timeouts()).isZero();
      assertThat(granted).isEqualTo(5_000);
      assertThat(calls()).isLessThan(2_000);
    }
  }

  private static long calls() {
    String stats = redis.info("commandstats", "cmdstat_evalsha");
    return Long.parseLong(stats.replaceAll(".*calls=(\\d+).*", "$1"));
  }

  @Test
  void differentLimitsAndCosts_ofOneBucket_areNotMixed() {
    try (SharedLimits limits = patient(redis.uri())) {
      SharedTokenBucket some = limits.bucket("mixed", new Limit.Manual(100));
      SharedTokenBucket more = limits.bucket("mixed", new Limit.Manual(200));
      List<CompletableFuture<Decision>> decisions = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        decisions.add(some.decide(1 + i % 3));
        decisions.add(more.decide(2));
        decisions.add(more.decide(150));
      }
      long taken = 0;
      for (int i = 0; i < decisions.size(); i++) {
        if (decisions.get(i).join().isGranted()) {
          taken += i % 3 == 0 ? 1 + i / 3 % 3 : i % 3 == 1 ? 2 : 150;
        }
      }
      assertThat(taken).isBetween(95L, 100L);
    }
  }

  /** Two limits on one name, so that no two go together: the worst for a line that is given up. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void noAnswer_failsEveryCallInTime(int limitsOnOneName) throws InterruptedException {
    int calls = 20_000;
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits limits =
            SharedLimits.builder()
                .url(proxy.uri())
                .options(SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED))
                .build()) {
      List<SharedTokenBucket> buckets = new ArrayList<>();
      for (int i = 0; i < limitsOnOneName; i++) {
        buckets.add(limits.bucket("silent" + limitsOnOneName, Limit.perSecond(1_000_000 + i)));
      }
      for (int i = 0; i < WARM_UP; i++) {
        buckets.get(i % limitsOnOneName).blocking().tryAcquire();
      }
      proxy.blackHole();
      AtomicLong slowest = new AtomicLong();
      CountDownLatch told = new CountDownLatch(calls);
      for (int i = 0; i < calls; i++) {
        long start = System.nanoTime();
        var unused =
            buckets
                .get(i % limitsOnOneName)
                .tryAcquire()
                .thenAccept(
                    granted -> {
                      slowest.accumulateAndGet(System.nanoTime() - start, Math::max);
                      told.countDown();
                    });
      }
      assertThat(told.await(60, TimeUnit.SECONDS)).isTrue();
      System.out.printf(
          "%,d at once when Redis falls silent, %d limit(s): slowest %d ms%n",
          calls, limitsOnOneName, slowest.get() / 1_000_000);
      // One after the other, each would wait for the time-out of the one before: half an hour.
      assertThat(slowest.get()).isLessThan(TimeUnit.SECONDS.toNanos(30));
      long start = System.nanoTime();
      proxy.heal();
      while (!buckets.get(0).blocking().tryAcquire()) {
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(30));
      }
    }
  }

  @Test
  void crowdOverASlowWire_isNoOutage() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits limits = patient(proxy.uri(), Duration.ofSeconds(2))) {
      SharedTokenBucket bucket = limits.bucket("far", Limit.perSecond(1_000_000));
      for (int i = 0; i < WARM_UP; i++) {
        bucket.blocking().tryAcquire();
      }
      // One batch after the other would take longer than the time-out: 24 times there and back.
      proxy.delay(Duration.ofMillis(100), Duration.ofMillis(100));
      for (int round = 0; round < 3; round++) {
        List<CompletableFuture<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
          all.add(bucket.tryAcquire());
        }
        CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).join();
      }
      assertThat(limits.status().outages()).isZero();
    }
  }

  @Test
  void fullBatch_waitsForNoAnswer() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits near = patient(redis.uri());
        SharedLimits limits = patient(proxy.uri())) {
      SharedTokenBucket bucket = limits.bucket("full", new Limit.Manual(10_000));
      bucket.blocking().tryAcquire();
      proxy.delay(Duration.ZERO, Duration.ofSeconds(5));
      List<CompletableFuture<Boolean>> all = new ArrayList<>();
      for (int i = 0; i < 3_000; i++) {
        all.add(bucket.tryAcquire());
      }
      SharedTokenBucket.Blocking seen = near.bucket("full", new Limit.Manual(10_000)).blocking();
      await().atMost(Duration.ofSeconds(60)).until(() -> seen.available() < 10_000 - 23 * 128);
      assertThat(all).noneMatch(CompletableFuture::isDone);
      proxy.delay(Duration.ZERO, Duration.ZERO);
      assertThat(all).allMatch(CompletableFuture::join);
    }
  }

  @Test
  void changedLimit_isNotRevertedByEarlierCalls() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits limits = patient(proxy.uri())) {
      SharedTokenBucket bucket = limits.bucket("changing", new Limit.Manual(10));
      for (int i = 0; i < 10; i++) {
        bucket.blocking().tryAcquire();
      }
      proxy.delay(Duration.ofMillis(5), Duration.ofMillis(5));
      List<CompletableFuture<Decision>> all = new ArrayList<>();
      for (int i = 0; i < 2_500; i++) {
        all.add(bucket.decide(10));
      }
      bucket
          .reconfigure(new Limit.Manual(1_000))
          .thenCompose(changed -> bucket.replenish(1_000))
          .join();
      long granted = 10 * all.stream().filter(each -> each.join().isGranted()).count();
      proxy.delay(Duration.ZERO, Duration.ZERO);
      assertThat(granted + bucket.blocking().available()).isEqualTo(1_000);
    }
  }
}
