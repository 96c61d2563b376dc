package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.internal.bucket.LimitUnits;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The scripts, unchanged, against the core: the same at the same times.
 *
 * <p>{@code -Dsluice.seeds=N} sets how many cases there are.
 */
@Tag("any-jdk")
final class DifferentialTest {
  private static final int SEEDS = Integer.getInteger("sluice.seeds", 200);
  private static final int STEPS = 25;

  private static final long START_MICROS = 978_307_200_000_000L;
  private static final long DAY_MICROS = Duration.ofDays(1).toNanos() / 1_000;

  private static RedisServer server;
  private static Scripts scripts;
  private static Scripts chosen;

  @BeforeAll
  static void start() {
    server = RedisServer.start();
    scripts = Scripts.inServerTime(server);
    chosen = Scripts.inChosenTime(server, START_MICROS);
  }

  @AfterAll
  static void stop() {
    scripts.close();
    chosen.close();
    server.close();
  }

  @Test
  void oneBucket_inTheServersOwnTime() {
    for (int seed = 0; seed < SEEDS / 4; seed++) {
      Random random = new Random(seed);
      Replay replay = new Replay(scripts, fastLimit(random));
      for (int step = 0; step < STEPS; step++) {
        act(random, replay);
      }
    }
  }

  @Test
  void oneBucket_atChosenTimes() {
    for (int seed = 0; seed < SEEDS / 4; seed++) {
      Random random = new Random(seed);
      Replay replay = new Replay(chosen, anyLimit(random));
      for (int step = 0; step < STEPS; step++) {
        pass(random, replay.limit());
        act(random, replay);
      }
    }
  }

  @Test
  void oneBucket_whoseLimitChanges() {
    for (int seed = 0; seed < SEEDS / 4; seed++) {
      Random random = new Random(seed);
      Replay replay = new Replay(chosen, anyLimit(random));
      replay.take(1);
      for (int step = 0; step < STEPS; step++) {
        pass(random, replay.limit());
        if (random.nextInt(4) == 0) {
          replay.change(anyLimit(random));
        }
        act(random, replay);
      }
    }
  }

  private static void act(Random random, Replay replay) {
    long most = replay.limit().capacity() + 2;
    long tokens = 1 + (long) (Math.pow(random.nextDouble(), 2) * most);
    switch (random.nextInt(10)) {
      case 0 -> replay.look(tokens);
      case 1 -> replay.give(random.nextInt(3) * tokens);
      case 2 -> replay.stand();
      case 3 -> replay.take(replay.limit().capacity());
      case 4 -> {
        // The core's reset adds whole tokens: of a fractional burst a part may be missing.
        if (random.nextInt(5) == 0 && !(replay.limit() instanceof Limit.Rate)) {
          replay.fill();
        }
      }
      default -> replay.take(tokens);
    }
  }

  /** Mostly about the time of some tokens, now and then none at all or very long. */
  private static void pass(Random random, Limit limit) {
    LimitUnits units = LimitUnits.inMicros(limit);
    double token =
        units.refills()
            ? (double) units.unitsPerToken() / units.unitsPerStep() * units.stepTicks()
            : 1_000;
    double scale =
        switch (random.nextInt(8)) {
          case 0 -> 0;
          case 1 -> 1.5 * Math.max(1, limit.capacity());
          case 2 -> 1e-3;
          default -> 2;
        };
    long micros = Math.min(DAY_MICROS, (long) (random.nextDouble() * scale * token));
    chosen.advance(micros);
  }

  private static final List<Duration> PERIODS =
      List.of(
          Duration.ofMillis(1),
          Duration.ofMillis(10),
          Duration.ofMillis(100),
          Duration.ofSeconds(1));

  /** One under which something happens between two calls. */
  private static Limit fastLimit(Random random) {
    return switch (random.nextInt(5)) {
      case 0 -> new Limit.Strict(1 + random.nextInt(20), PERIODS.get(random.nextInt(2)));
      case 1 -> rate(1_000 + random.nextInt(100_000) / 10.0, random);
      case 2 -> new Limit.Manual(1 + random.nextInt(30));
      default ->
          new Limit.Balanced(
              1 + random.nextInt(30),
              1 + random.nextInt(50),
              Duration.ofNanos(1_000L * (1 + random.nextInt(20_000))));
    };
  }

  private static Limit anyLimit(Random random) {
    return switch (random.nextInt(8)) {
      case 0 -> new Limit.Strict(1 + random.nextInt(20), PERIODS.get(random.nextInt(4)));
      case 1 -> rate(random.nextInt(100_000) / 1_000.0, random);
      case 2 -> rate(random.nextInt(1_000) / 1_000.0, random);
      case 3 -> new Limit.Manual(1 + random.nextInt(30));
      case 4 -> random.nextInt(3) == 0 ? new Limit.DenyAll() : new Limit.Rate(0, 3.5);
      default ->
          new Limit.Balanced(
              1 + random.nextInt(1 << random.nextInt(20)),
              1 + random.nextInt(1 << random.nextInt(20)),
              Duration.ofNanos(1_000L * (1 + random.nextInt(1 << random.nextInt(30)))));
    };
  }

  /** One whose burst is whole units, so that the core holds no finer part of it. */
  private static Limit rate(double perSecond, Random random) {
    double fraction = random.nextInt(10) / 10.0;
    Limit.Rate rate = new Limit.Rate(perSecond, random.nextInt(20) + fraction);
    LimitUnits units = LimitUnits.inMicros(rate);
    return units.unitsPerToken() % 10 == 0 ? rate : new Limit.Rate(perSecond, rate.capacity());
  }

  @Test
  void severalKeys_takeAllOrNothing() {
    for (int seed = 0; seed < SEEDS / 15; seed++) {
      Random random = new Random(seed);
      String prefix = StandingRedis.newName();
      Limits core = Limits.builder().clock(() -> chosen.micros() * 1_000).build();
      Map<String, Limit> limits = new LinkedHashMap<>();
      for (int i = 0; i < 4; i++) {
        Limit.Rate limit = (Limit.Rate) rate(random.nextInt(5) / 2.0, random);
        limits.put(prefix + i, limit);
        core.set(prefix + i, limit);
      }
      for (int step = 0; step < STEPS; step++) {
        chosen.advance(random.nextInt(2_000_000));
        askSome(random, core, limits);
      }
    }
  }

  private static void askSome(Random random, Limits core, Map<String, Limit> limits) {
    Map<String, Long> costs = new LinkedHashMap<>();
    List<Scripts.Item> items = new ArrayList<>();
    limits.forEach(
        (key, limit) -> {
          if (random.nextInt(3) != 0) {
            long cost = 1L + random.nextInt(4);
            costs.put(key, cost);
            items.add(new Scripts.Item(key, cost, ScriptLimit.of(limit)));
          }
        });
    if (items.isEmpty()) {
      return;
    }
    boolean take = random.nextInt(4) != 0;
    List<Long> reply = chosen.decide(take ? "take" : "look", 1, items);
    assertThat(reply.get(3)).isEqualTo(chosen.micros());
    Decision expected = take ? core.decide(costs) : core.peek(costs);
    String story = "%s of %s: %s, core %s".formatted(costs, limits, reply, expected);
    String binding = reply.get(0) == 1 ? "" : items.get((int) (reply.get(1) - 1)).key();
    switch (reply.get(0).intValue()) {
      case 0 -> {
        assertThat(expected).as(story).isInstanceOf(Decision.Denied.class);
        Decision.Denied denied = (Decision.Denied) expected;
        assertThat(reply.get(2)).as(story).isEqualTo((denied.retryAfterNanos() + 999) / 1_000);
        long own = waitNanos(core.peek(binding, costs.get(binding)));
        assertThat((own + 999) / 1_000).as(story).isEqualTo(reply.get(2));
      }
      case 1 ->
          assertThat(expected)
              .as(story)
              .isEqualTo(new Decision.Granted(items.isEmpty() ? Long.MAX_VALUE : reply.get(1)));
      case 2 -> {
        assertThat(expected).as(story).isInstanceOf(Decision.Depleted.class);
        assertThat(core.peek(binding, costs.get(binding)))
            .as(story)
            .isEqualTo(new Decision.Depleted(binding, reply.get(2)));
      }
      default -> {
        assertThat(expected).as(story).isInstanceOf(Decision.Impossible.class);
        assertThat(core.peek(binding, costs.get(binding)))
            .as(story)
            .isInstanceOf(Decision.Impossible.class);
      }
    }
    for (Scripts.Item item : items) {
      List<Long> level = chosen.adjust("look", 1, "0", item.key(), item.quota());
      assertThat((double) level.get(0) / level.get(1))
          .as(story)
          .isEqualTo(core.stats(item.key()).orElseThrow().level());
    }
  }

  private static long waitNanos(Decision decision) {
    return decision instanceof Decision.Denied denied ? denied.retryAfterNanos() : 0;
  }
}
