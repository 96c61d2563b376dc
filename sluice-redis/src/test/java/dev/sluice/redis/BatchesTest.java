package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.testkit.RedisServer;
import dev.sluice.testkit.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that go to Redis together are decided as if they had come one by one. */
@Timeout(60)
class BatchesTest {
  private static RedisServer redis;

  @BeforeAll
  static void start() {
    redis = RedisServer.start();
  }

  @AfterAll
  static void stop() {
    redis.close();
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
    String params = Quota.of(limit).params();
    Random random = new Random(kind);
    TokenBucket core = null;
    for (int round = 0; round < 100; round++) {
      List<String> words =
          new ArrayList<>(List.of("EVAL", Script.MANY.body(), "1", "many:" + kind));
      words.addAll(List.of("0", params));
      List<Long> tokens = random.longs(1 + random.nextInt(20), 1, 12).boxed().toList();
      tokens.forEach(count -> words.add(Long.toString(count)));
      List<?> reply = (List<?>) Objects.requireNonNull(redis.command(words.toArray(String[]::new)));
      long nanos = number(reply, 0) * 1_000;
      if (core == null) {
        // The grid of a strict bucket starts with it.
        long start = nanos - nanos % 2_000_000;
        core = TokenBucket.builder().limit(limit).clock(() -> start).build();
      }
      for (int i = 0; i < tokens.size(); i++) {
        Decision expected = core.decide(tokens.get(i), nanos);
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
      case 0 -> Decision.denied(figure * 1_000);
      case 1 -> Decision.granted(figure);
      case 2 -> Decision.depleted(figure);
      default -> Decision.impossible(limit.capacity());
    };
  }

  /** To the microsecond, upwards. */
  private static Decision rounded(Decision decision) {
    return decision instanceof Decision.Denied denied
        ? Decision.denied((denied.retryAfterNanos() + 999) / 1_000 * 1_000)
        : decision;
  }

  @Test
  void manyAtOnce_getWhatIsThere_inFewCalls() {
    try (SharedLimits limits = SharedLimits.connect(redis.uri())) {
      SharedBucket bucket = limits.bucket("crowd", new Limit.Manual(5_000));
      redis.command("CONFIG", "RESETSTAT");
      List<CompletableFuture<Boolean>> all = new ArrayList<>();
      for (int round = 0; round < 10; round++) {
        List<CompletableFuture<Boolean>> now = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
          now.add(bucket.tryConsume());
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
    try (SharedLimits limits = SharedLimits.connect(redis.uri())) {
      SharedBucket some = limits.bucket("mixed", new Limit.Manual(100));
      SharedBucket more = limits.bucket("mixed", new Limit.Manual(200));
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

  @Test
  void noAnswer_everyoneIsToldInTime() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        SharedLimits limits =
            SharedLimits.builder().url(proxy.uri()).onOutage(OutagePolicy.CLOSED).open()) {
      SharedBucket bucket = limits.bucket("silent", Limit.perSecond(1_000_000));
      assertThat(bucket.blocking().tryConsume()).isTrue();
      proxy.blackHole();
      long start = System.nanoTime();
      List<CompletableFuture<Boolean>> all = new ArrayList<>();
      for (int i = 0; i < 1_000; i++) {
        all.add(bucket.tryConsume());
      }
      assertThat(all).allSatisfy(answer -> assertThat(answer.join()).isFalse());
      assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(5));
      proxy.heal();
      while (!bucket.blocking().tryConsume()) {
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(30));
      }
    }
  }
}
