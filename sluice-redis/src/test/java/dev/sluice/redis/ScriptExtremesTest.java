package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.LimitScript;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The scripts at the ends of what numbers and clocks can do. */
@Tag("any-jdk")
final class ScriptExtremesTest {
  private static final int SEEDS = Integer.getInteger("sluice.seeds", 200);
  private static final long START_MICROS = 978_307_200_000_000L;
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final long YEAR_MICROS = 31_557_600_000_000L;

  private static RedisServer server;
  private static Scripts scripts;

  @BeforeAll
  static void start() {
    server = RedisServer.start();
    scripts = Scripts.inChosenTime(server, START_MICROS);
  }

  @AfterAll
  static void stop() {
    scripts.close();
    server.close();
  }

  private static final List<Limit> EXTREMES =
      List.of(
          new Limit.Balanced(1, 1, Duration.ofDays(36_500)),
          new Limit.Balanced(100, 1, Duration.ofDays(365)),
          new Limit.Balanced(1_000_000_000, 1_000_000_000, Duration.ofSeconds(1)),
          new Limit.Balanced(1L << 52, 1_000_000_000_000L, Duration.ofSeconds(1)),
          new Limit.Balanced(999_983, 999_979, Duration.ofNanos(1_000_003_000)),
          new Limit.Balanced(1, 1, Duration.ofNanos(1_000)),
          new Limit.Manual((1L << 53) - 1),
          new Limit.Strict((1L << 53) - 1, Duration.ofSeconds(1)),
          new Limit.Rate(0.001, 3_000_000));

  @Test
  void extremeLimits_areAsTheCore() {
    for (Limit limit : EXTREMES) {
      Random random = new Random(11);
      Replay replay = new Replay(scripts, limit);
      for (int step = 0; step < 60; step++) {
        long capacity = limit.capacity();
        scripts.advance(Math.min(YEAR_MICROS, (long) Math.pow(10, 16 * random.nextDouble()) / 10));
        switch (random.nextInt(5)) {
          case 0 -> replay.take(capacity);
          case 1 -> replay.look(capacity);
          case 2 -> replay.stand();
          case 3 -> replay.give(1 + (long) (random.nextDouble() * capacity / 4));
          default -> replay.take(1 + (long) (random.nextDouble() * capacity));
        }
      }
    }
  }

  @Test
  void aClockThatGoesBack_bringsNothing_andTimeGoesOn() {
    ScriptLimit quota = ScriptLimit.of(new Limit.Balanced(10, 10, Duration.ofSeconds(1)));
    String key = StandingRedis.newName();
    assertThat(take(key, 10, quota)).startsWith(1L, 0L);
    scripts.advance(-HOUR_MICROS);
    assertThat(take(key, 1, quota)).as("nothing comes").startsWith(0L, 1L, 100_000L);
    scripts.advance(100_000);
    assertThat(take(key, 1, quota)).as("time does not stand still").startsWith(1L, 0L);
    scripts.advance(HOUR_MICROS);
    assertThat(take(key, 11, quota)).startsWith(3L);
    assertThat(take(key, 10, quota)).as("no more than the capacity").startsWith(1L, 0L);
  }

  @Test
  void aClockThatGoesBack_endsBlocksOfADeadNode() {
    ScriptLimit quota = ScriptLimit.of(new Limit.Balanced(10, 10, Duration.ofSeconds(1)));
    String key = StandingRedis.newName();
    String[] lend = {"", "0", "0", "5", "0", "60000000", "dead.1", "1", quota.params()};
    assertThat(scripts.run(LimitScript.TOKEN_BLOCK, key, lend)).startsWith(4L, 5L);
    scripts.advance(-HOUR_MICROS);
    assertThat(take(key, 5, quota)).startsWith(1L, 0L);
    scripts.advance(1_000_000);
    assertThat(take(key, 10, quota)).as("nothing is out").startsWith(1L, 0L);
  }

  private static List<Long> take(String key, long tokens, ScriptLimit quota) {
    return scripts.decide("take", 1, List.of(new Scripts.Item(key, tokens, quota)));
  }

  @Test
  void conversion_neverGainsAndLosesLittle() {
    Random random = new Random(5);
    for (int i = 0; i < SEEDS / 3; i++) {
      ScriptLimit from = ScriptLimit.of(randomLimit(random));
      ScriptLimit to = ScriptLimit.of(randomLimit(random));
      String key = StandingRedis.newName();
      long capacity = from.limit().capacity();
      take(key, Math.max(1, (long) (random.nextDouble() * capacity)), from);
      // Within a token, so that there is a fraction to convert.
      scripts.advance(random.nextInt(1_000));
      List<Long> before = scripts.adjust("look", 1, "0", key, from);
      List<Long> after = scripts.adjust("move", 2, from.params(), key, to);
      BigInteger had = product(before.get(0), after.get(1));
      BigInteger has = product(after.get(0), before.get(1));
      String story = from.limit() + " to " + to.limit() + ": " + before + ", " + after;
      assertThat(has).as(story).isLessThanOrEqualTo(had);
      if (after.get(0) < to.units().capacityUnits()) {
        BigInteger loss = product(4, before.get(1));
        assertThat(has.add(loss)).as(story).isGreaterThanOrEqualTo(had);
      }
    }
  }

  private static BigInteger product(long one, long other) {
    return BigInteger.valueOf(one).multiply(BigInteger.valueOf(other));
  }

  private static Limit randomLimit(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> EXTREMES.get(random.nextInt(EXTREMES.size()));
      case 1 -> new Limit.Rate(random.nextInt(1 << 20) / 1000.0, random.nextInt(1 << 10) / 8.0);
      case 2 -> new Limit.Manual(1 + random.nextInt(1 << random.nextInt(30)));
      default ->
          new Limit.Balanced(
              1 + random.nextInt(1 << random.nextInt(20)),
              1 + random.nextInt(1 << random.nextInt(20)),
              Duration.ofNanos(1 + random.nextInt(Integer.MAX_VALUE)));
    };
  }
}
