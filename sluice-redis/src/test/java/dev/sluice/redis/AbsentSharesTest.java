package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Changes of a bucket do not give away the share of absent members either. */
final class AbsentSharesTest {
  private static final long SECOND = 1_000_000;
  private static final String KEY = "bucket";
  private static final ScriptLimit QUOTA =
      ScriptLimit.of(new Limit.Balanced(1_000, 1_000, Duration.ofSeconds(1)));
  private static final ScriptLimit SMALLER =
      ScriptLimit.of(new Limit.Balanced(100, 100, Duration.ofSeconds(1)));

  @AutoClose private final RedisServer redis = RedisServer.start();

  @AutoClose private final Scripts scripts = Scripts.inChosenTime(redis, 1_000_000 * SECOND);

  private long take(ScriptLimit quota, long tokens) {
    return scripts.decide("take", 0, List.of(new Scripts.Item(KEY, tokens, quota))).get(0);
  }

  private long adjust(String how, String amount) {
    List<Long> said = scripts.adjust(how, 0, amount, KEY, QUOTA);
    return said.get(0) / said.get(1);
  }

  @Test
  void replenish_leavesSavedTokensOfAbsentMembersReserved() {
    scripts.absent(0.25);
    scripts.advance(10 * SECOND);
    assertThat(take(QUOTA, 500)).isEqualTo(1);
    assertThat(adjust("give", "100")).isBetween(347L, 350L);
    assertThat(adjust("give", "1000")).isBetween(747L, 750L);
    scripts.absent(0);
    scripts.advance(SECOND / 10);
    assertThat(adjust("give", "50")).isBetween(897L, 900L);
  }

  @Test
  void reset_leavesSavedTokensOfAbsentMembersReserved() {
    scripts.absent(0.25);
    scripts.advance(10 * SECOND);
    assertThat(take(QUOTA, 500)).isEqualTo(1);
    assertThat(adjust("fill", "0")).isBetween(747L, 750L);
    scripts.absent(0);
    scripts.advance(SECOND / 10);
    assertThat(adjust("fill", "0")).isEqualTo(1_000);
  }

  @Test
  void smallerLimit_leavesSavedTokensOfAbsentMembersReserved() {
    assertThat(take(QUOTA, 900)).isEqualTo(1);
    scripts.absent(0.25);
    scripts.advance(SECOND / 2);
    assertThat(take(SMALLER, 90)).isZero();
    assertThat(take(SMALLER, 74)).isEqualTo(1);
  }
}
