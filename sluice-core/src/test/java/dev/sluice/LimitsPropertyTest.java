package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.LimitsModel.Rule;
import dev.sluice.ModelPropertyTest.Grant;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The throttle against an exact model that never evicts, and every window within bounds. */
final class LimitsPropertyTest {
  private static final List<String> KEYS = List.of("a", "b", "t:1", "t:2", "unknown");

  /** A request, and the time since the one before. */
  record Step(long advance, int keys, long cost, boolean evict) {
    Map<String, Long> costs() {
      Map<String, Long> costs = new HashMap<>();
      for (int i = 0; i < KEYS.size(); i++) {
        if ((keys >> i & 1) != 0) {
          costs.put(KEYS.get(i), 1 + (cost + i) % 5);
        }
      }
      return costs;
    }
  }

  @Test
  void decisions_agreeWithAModelWithoutEviction() {
    Property.check(
        1_000,
        generator -> {
          Rule a = rule(generator);
          Rule b = rule(generator);
          Rule template = rule(generator);
          List<Step> steps = steps(generator);
          ManualClock clock = ManualClock.create();
          ReplaceableClock readings = new ReplaceableClock(clock);
          Limits limits = Limits.builder().clock(readings).build();
          limits.set("a", Limit.ofRate(a.rate(), a.burst()));
          limits.set("b", Limit.ofRate(b.rate(), b.burst()));
          limits.set("t:*", Limit.ofRate(template.rate(), template.burst()));
          LimitsModel model =
              new LimitsModel(Map.of("a", a, "b", b, "t:1", template, "t:2", template));
          for (Step step : steps) {
            clock.advanceNanos(step.advance * step.advance);
            model.advanceTo(clock.nanoTime());
            if (step.evict) {
              limits.evictIdle();
            }
            assertSameAnswer(limits, readings, model, step.costs());
            for (String key : List.of("a", "b", "t:1", "t:2")) {
              assertThat(limits.stats(key).orElseThrow().level())
                  .isCloseTo(model.level(key).doubleValue() / 1e12, within(1e-9));
            }
          }
        });
  }

  private static void assertSameAnswer(
      Limits limits, ReplaceableClock clock, LimitsModel model, Map<String, Long> costs) {
    long nowNanos = clock.nanoTime();
    String binding =
        costs.keySet().stream()
            .max(Comparator.comparing(key -> model.wait(key, costs)))
            .orElse("unknown");
    BigInteger wait = model.wait(binding, costs);
    assertThat(limits.peek(costs).isGranted()).isEqualTo(wait.signum() == 0);
    if (nowNanos % 2 == 0) {
      assertThat(limits.tryAcquire(costs)).isEqualTo(model.tryAcquire(costs));
      return;
    }
    Decision decision = limits.decide(costs);
    assertThat(decision.isGranted()).isEqualTo(model.tryAcquire(costs));
    if (decision instanceof Decision.Denied denied) {
      assertThat(BigInteger.valueOf(denied.retryAfterNanos())).isEqualTo(wait);
      assertThat(model.wait(denied.limitName(), costs)).isEqualTo(wait);
      long retryAt = nowNanos + denied.retryAfterNanos();
      assertThat(clock.at(retryAt - 1, () -> limits.peek(costs)).isGranted())
          .as("minimal")
          .isFalse();
      assertThat(clock.at(retryAt, () -> limits.peek(costs)).isGranted())
          .as("for all keys")
          .isTrue();
    } else if (decision instanceof Decision.Depleted depleted) {
      assertThat(wait).isEqualTo(LimitsModel.TOKEN.pow(4));
      assertThat(model.wait(depleted.limitName(), costs)).isEqualTo(wait);
    } else if (decision instanceof Decision.Impossible impossible) {
      assertThat(wait).isEqualTo(LimitsModel.TOKEN.pow(5));
      assertThat(model.wait(impossible.limitName(), costs)).isEqualTo(wait);
    }
  }

  @Test
  void everyWindow_holds_withJumbledReadingsAndEvictions() {
    Property.check(
        1_000,
        generator -> {
          Limit.Balanced limit = limit(generator);
          List<Step> steps = steps(generator);
          double rate = limit.refillTokens() * 1e9 / limit.refillPeriod().toNanos();
          long fillNanos = (long) (limit.capacity() * 1e9 / rate);
          ReplaceableClock clock = new ReplaceableClock(ManualClock.create());
          Limits limits = Limits.builder().clock(clock).build();
          limits.set("t:*", Limit.ofRate(rate, (double) limit.capacity()));
          List<Grant> grants = new ArrayList<>();
          long latest = 0;
          int n = 0;
          for (Step step : steps) {
            long advance = (long) (Math.pow(step.advance / 1e6, 2) * fillNanos);
            latest += advance;
            long now = step.keys % 3 == 0 ? latest : latest - advance * (step.keys % 32) / 16;
            if (step.evict) {
              clock.at(step.cost % 2 == 0 ? latest : now, limits::evictIdle);
            }
            long cost = 1 + step.cost % limit.capacity();
            List<String> names = n++ % 2 == 0 ? List.of("t:1") : List.of("t:1", "t:2" + n);
            if (clock.at(now, () -> tryAcquire(limits, names, cost))) {
              grants.add(new Grant(now, cost));
            }
          }
          Windows.assertBounded(grants, limit);
        });
  }

  private static boolean tryAcquire(Limits limits, List<String> names, long cost) {
    return names.size() == 1
        ? limits.tryAcquire(names.get(0), cost)
        : limits.tryAcquire(Costs.each(names, cost));
  }

  @Test
  void anUpdate_keepsTokens_clampsThem_andNeverGains() {
    Property.check(
        500,
        generator -> {
          Rule before = rule(generator);
          Rule after = rule(generator);
          List<Step> steps = steps(generator);
          ManualClock clock = ManualClock.create();
          Limits limits = Limits.builder().clock(clock).build();
          limits.set("a", Limit.ofRate(before.rate(), before.burst()));
          for (Step step : steps) {
            clock.advanceNanos(step.advance * step.advance);
            limits.tryAcquire("a", 1 + step.cost % 5);
          }
          double level = limits.stats("a").orElseThrow().level();
          limits.set("a", Limit.ofRate(after.rate(), after.burst()));
          double expected = Math.min(level, after.burst());
          double lost = after.milliPerSecond() == 0 ? 1 : 1e-6;
          assertThat(limits.stats("a").orElseThrow().level())
              .isBetween(Math.max(0, expected - lost), expected + 1e-9);
        });
  }

  private static Rule rule(Generator generator) {
    return new Rule(generator.longBetween(0, 1_000, 500), generator.longBetween(0, 100));
  }

  /** Slow ones, and one whose epoch ends about every second, that is every other filling. */
  private static Limit.Balanced limit(Generator generator) {
    return generator.nextBoolean()
        ? new Limit.Balanced(
            generator.longBetween(1, 20),
            generator.longBetween(1, 1_000),
            Duration.ofSeconds(1_000))
        : new Limit.Balanced(
            generator.longBetween(1, 500_000_000), 999_999_937, Duration.ofSeconds(1));
  }

  private static List<Step> steps(Generator generator) {
    return generator.list(
        1,
        60,
        each ->
            new Step(
                each.longBetween(0, 1_000_000),
                each.intBetween(0, 31),
                each.longBetween(0, 1_000_000_000),
                each.nextBoolean()));
  }
}
