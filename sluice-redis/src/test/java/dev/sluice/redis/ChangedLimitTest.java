package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A limit that changes while its bucket is empty, or that two nodes see differently. */
@Tag("any-jdk")
final class ChangedLimitTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long START_MICROS = 978_307_200_000_000L;

  @AutoClose private static final RedisServer server = RedisServer.start();

  private final String prefix = StandingRedis.newName();

  private SharedLimits open() {
    return StandingRedis.awaitConnected(
        SharedLimits.builder()
            .url(server.uri())
            .prefix(prefix)
            .timeout(PATIENCE)
            .options(SharedLimitOptions.defaults().withOutageMode(OutageMode.CLOSED))
            .build());
  }

  /** Every try is a denial until the new rate has brought a token. */
  private static void assertRefills(Callable<Boolean> take) {
    Await.until("a token at the new rate", PATIENCE, take);
  }

  @Test
  void template_fromNoRateToOne_refillsAnEmptyBucket() {
    try (SharedLimits limits = open()) {
      SharedLimits.Blocking throttle = limits.blocking();
      throttle.set("t:*", new Limit.Rate(0, 5));
      for (int i = 0; i < 5; i++) {
        assertThat(throttle.tryAcquire("t:x")).isTrue();
      }
      assertThat(throttle.tryAcquire("t:x")).isFalse();
      throttle.set("t:*", new Limit.Rate(10, 5));
      assertRefills(() -> throttle.tryAcquire("t:x"));
    }
  }

  @Test
  void bucket_fromDaysToSeconds_refillsWhenEmpty() {
    try (SharedLimits limits = open()) {
      Limit daily = new Limit.Balanced(5, 5, Duration.ofDays(1));
      assertThat(limits.bucket("x", daily).blocking().tryAcquire(5)).isTrue();
      assertThat(limits.bucket("x", daily).blocking().tryAcquire()).isFalse();
      SharedTokenBucket.Blocking quick = limits.bucket("x", Limit.perSecond(5)).blocking();
      assertRefills(quick::tryAcquire);
    }
  }

  private List<Long> take(Scripts scripts, long tokens, ScriptLimit quota) {
    return scripts.decide("take", 1, List.of(new Scripts.Item(prefix, tokens, quota)));
  }

  @Test
  void lowered_afterDraining_denialsDoNotRefillAtTheOldRate() {
    ScriptLimit high = ScriptLimit.of(new Limit.Balanced(1_000, 1_000, Duration.ofSeconds(1)));
    ScriptLimit low = ScriptLimit.of(new Limit.Balanced(100, 1, Duration.ofSeconds(1)));
    try (Scripts scripts = Scripts.inChosenTime(server, START_MICROS)) {
      assertThat(take(scripts, 1_000, high)).startsWith(1L, 0L);
      for (int i = 0; i < 10; i++) {
        assertThat(take(scripts, 50, low)).startsWith(0L);
        scripts.advance(100_000);
      }
      assertThat(take(scripts, 2, low)).as("one token in a second").startsWith(0L);
      assertThat(take(scripts, 1, low)).startsWith(1L, 0L);
    }
  }

  @Test
  void twoNodes_withDifferentBursts_theKeyOutlivesTheSmallerOne() {
    ScriptLimit small = ScriptLimit.of(new Limit.Rate(10, 10));
    ScriptLimit large = ScriptLimit.of(new Limit.Rate(10, 1_000));
    try (Scripts scripts = Scripts.inChosenTime(server, START_MICROS)) {
      assertThat(take(scripts, 1_000, large)).startsWith(1L, 0L);
      scripts.advance(100_000);
      assertThat(take(scripts, 1, small)).startsWith(1L, 0L);
      assertThat(scripts.get(prefix)).contains(" !keep:0:");
      scripts.advance(1_100_000);
      assertThat(take(scripts, 12, large)).as("1.2 seconds bring no 13 tokens").startsWith(0L);
      scripts.advance(90_000_000);
      assertThat(take(scripts, 1_000, large)).as("not full for 100 seconds").startsWith(0L);
    }
  }
}
