package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.redis.internal.limits.LimitScript;
import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.load.GrantLog;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script of leases against a model of it, and against the promise of the limit. */
@Tag("any-jdk")
class LeaseScriptTest {
  private static final int STEPS = 700;

  @AutoClose private static final RedisServer redis = RedisServer.start();

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void balanced_isTheModelAndKeepsEveryWindow(long seed) {
    Run run = new Run(new Limit.Balanced(60, 7, Duration.ofMillis(1)), seed);
    run.play();
    assertThat(run.log.maxExcess(60, 7, 1_000)).isLessThanOrEqualTo(0);
  }

  @ParameterizedTest
  @ValueSource(longs = {4, 5})
  void strict_isTheModel(long seed) {
    Run run = new Run(new Limit.Strict(40, Duration.ofMillis(10)), seed);
    run.play();
    assertThat(run.mostInPeriod(10_000)).isLessThanOrEqualTo(40);
  }

  @Test
  void manual_isTheModel() {
    Run run = new Run(new Limit.Manual(300), 6);
    run.play();
    assertThat(run.log.total()).isLessThanOrEqualTo(300 + run.given);
  }

  @Test
  void lend_manyBlocks_stopsAt64() {
    Run run = new Run(new Limit.Manual(1_000), 7);
    for (int i = 0; i < 70; i++) {
      long code = run.lease("", 0, 0, 4, 0, 10_000_000);
      assertThat(code).isEqualTo(i < 64 ? 4 : 1);
    }
  }

  @Test
  void lend_underOlderRules_lendsNothing() {
    String large = ScriptLimit.of(new Limit.Manual(1_000)).params();
    String small = ScriptLimit.of(new Limit.Manual(100)).params();
    run(LimitScript.DECIDE, "take", "5", "1", small);
    assertThat(run(LimitScript.TOKEN_BLOCK, "", "0", "1", "50", "0", "1000000", "n.1", "4", large))
        .startsWith(1L, 98L)
        .endsWith(5L);
  }

  @Test
  void close_afterItsTime_changesNothing() {
    // The block lasts one microsecond: it is over before the next command.
    String params = ScriptLimit.of(new Limit.Manual(100)).params();
    assertThat(run(LimitScript.TOKEN_BLOCK, "", "0", "0", "50", "0", "1", "n.1", "0", params))
        .startsWith(4L);
    assertThat(run(LimitScript.TOKEN_BLOCK, "n.1", "50", "0", "0", "0", "0", "", "0", params))
        .startsWith(1L, 50L);
  }

  /** On a bucket of this test alone. */
  private List<Long> run(LimitScript script, String... arguments) {
    return eval(script, "test:" + System.identityHashCode(this), List.of(arguments));
  }

  private static List<Long> eval(LimitScript script, String key, List<String> arguments) {
    List<String> words = new ArrayList<>(List.of("EVAL", script.body(), "1", key));
    words.addAll(arguments);
    words.addAll(Scripts.UNGUARDED);
    List<?> reply = (List<?>) Objects.requireNonNull(redis.command(words.toArray(String[]::new)));
    return reply.stream().map(number -> (Long) Objects.requireNonNull(number)).toList();
  }

  /** One bucket, what was done to it, and what its model says. */
  private static final class Run {
    private final String key;
    private final ScriptLimit quota;
    private final TokenBlockModel model;
    private final Random random;
    private final List<String> ids = new ArrayList<>();
    private final Map<String, Long> sizes = new HashMap<>();
    private final Map<Long, Long> byTime = new HashMap<>();
    final GrantLog log = new GrantLog();
    long given;

    Run(Limit limit, long seed) {
      key = "run:" + seed;
      quota = ScriptLimit.of(limit);
      model = new TokenBlockModel(quota.units());
      random = new Random(seed);
    }

    void play() {
      for (int i = 0; i < STEPS; i++) {
        int kind = random.nextInt(10);
        if (kind < 5) {
          String closing = kind < 3 ? someId() : "";
          long unused = random.nextLong(sizes.getOrDefault(closing, 5L) + 1);
          long ttl = 300L + random.nextInt(6_000);
          long reserve = random.nextLong(quota.units().capacityUnits() / 4);
          lease(closing, unused, random.nextInt(4), random.nextInt(20), reserve, ttl);
        } else if (kind < 6) {
          lease(someId(), 0, 0, 0, 0, 0);
        } else if (kind < 9) {
          take(1 + random.nextInt(25));
        } else if (!quota.units().refills()) {
          give(random.nextInt(30));
        }
        look();
      }
    }

    /** Of a block that is out, or was. */
    private String someId() {
      return ids.isEmpty()
          ? "none"
          : ids.get(ids.size() - 1 - random.nextInt(Math.min(8, ids.size())));
    }

    private List<Long> eval(LimitScript script, String... own) {
      List<String> arguments = new ArrayList<>(List.of(own));
      arguments.add(quota.params());
      return LeaseScriptTest.eval(script, key, arguments);
    }

    private void granted(long time, long tokens) {
      log.record(time, tokens);
      byTime.merge(time, tokens, Long::sum);
    }

    private void advance(long now) {
      // No node can use more of a block, or use it later.
      for (TokenBlockModel.Block ended : model.advance(now)) {
        granted(ended.ends() - 1, ended.tokens());
      }
    }

    long lease(String closing, long unused, long asked, long wanted, long reserve, long ttl) {
      String id = "n." + ids.size();
      List<Long> reply =
          eval(
              LimitScript.TOKEN_BLOCK,
              closing,
              Long.toString(unused),
              Long.toString(asked),
              Long.toString(wanted),
              Long.toString(reserve),
              Long.toString(ttl),
              id,
              "0");
      long now = reply.get(3);
      advance(now);
      granted(now, model.close(closing, unused));
      long lent = model.lend(asked, wanted, reserve, id, now + ttl);
      if (lent > 0) {
        ids.add(id);
        sizes.put(id, lent);
        assertThat(reply.subList(0, 2)).containsExactly(4L, lent);
        return 4;
      }
      checkTaken(reply, asked);
      return reply.get(0);
    }

    private void take(long tokens) {
      String[] own = {"take", "0", Long.toString(tokens)};
      List<Long> reply = eval(LimitScript.DECIDE, own);
      advance(reply.get(3));
      checkTaken(reply, tokens);
    }

    private void checkTaken(List<Long> reply, long tokens) {
      long code = model.take(tokens);
      assertThat(reply.get(0)).isEqualTo(code);
      if (code == 1) {
        granted(reply.get(3), tokens);
        assertThat(reply.get(1)).isEqualTo(model.level() / quota.units().unitsPerToken());
      }
    }

    private void give(long tokens) {
      List<Long> reply = eval(LimitScript.ADJUST, "give", "0", Long.toString(tokens));
      advance(reply.get(3));
      model.give(tokens);
      given += tokens;
    }

    private void look() {
      List<Long> reply = eval(LimitScript.ADJUST, "look", "0", "0");
      advance(reply.get(3));
      assertThat(reply.get(0)).isEqualTo(model.level());
      assertThat(model.level() + model.leasedUnits())
          .isLessThanOrEqualTo(quota.units().capacityUnits());
    }

    long mostInPeriod(long micros) {
      Map<Long, Long> periods = new HashMap<>();
      byTime.forEach((time, tokens) -> periods.merge(time / micros, tokens, Long::sum));
      return periods.values().stream().mapToLong(Long::longValue).max().orElse(0);
    }
  }
}
