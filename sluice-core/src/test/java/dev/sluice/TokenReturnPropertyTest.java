package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.bucket.ConfinedTokenBucket;
import dev.sluice.internal.bucket.DebtHistory;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A bucket to which tokens are returned, against a replay of its history without the returned
 * charges.
 */
@Tag("any-jdk")
class TokenReturnPropertyTest {
  /** Rates are multiples of a half, so one nanosecond mints whole units. */
  private static final long UNITS_PER_TOKEN = 2_000_000_000L;

  private static final long PERIOD_NANOS = 1_000_000_000L;

  /** Burst enough for more charges at a time than a history has entries. */
  private static final int LARGE = 1_000;

  /** A step; what its numbers mean depends on its kind. */
  record Step(int kind, int a, int b) {}

  private static List<Step> steps(Generator generator, int most) {
    return generator.list(
        0,
        most,
        each -> new Step(each.below(10), each.intBetween(0, 1_000), each.intBetween(0, 1_000)));
  }

  private static Limit rate(int a, int b) {
    return rate(a, b, 1);
  }

  private static Limit rate(int a, int b, int bursts) {
    return new Limit.Rate(a % 9 / 2.0, bursts * (1L + b % 12));
  }

  @Test
  void returns_leaveTheLevelThatTheBucketWouldHaveWithoutTheCharge() {
    Property.check(
        2_000,
        generator -> {
          Limit limit = rate(generator.intBetween(0, 1_000), generator.intBetween(0, 1_000));
          new Run(limit, 0).go(steps(generator, 200));
        });
  }

  @Test
  void returnsOfAStrictLimit_doNotReachIntoALaterPeriod() {
    Property.check(
        1_000,
        generator -> {
          long capacity = generator.longBetween(1, 12);
          Limit limit = new Limit.Strict(capacity, Duration.ofNanos(PERIOD_NANOS));
          new Run(limit, 0).go(steps(generator, 200));
        });
  }

  @Test
  void returnsAcrossChangesOfTheRate_giveNoMoreThanWithoutTheCharge() {
    Property.check(
        2_000,
        generator -> {
          Limit limit = rate(generator.intBetween(0, 1_000), generator.intBetween(0, 1_000));
          new Run(limit, Double.MAX_VALUE).go(steps(generator, 200));
        });
  }

  /** Each conversion of a level or a debt is rounded by less than a unit of one of the rates. */
  @Test
  void returnsAcrossChangesOfTheRate_loseAlmostNothing() {
    Property.check(
        2_000,
        generator -> {
          Limit limit = rate(1 + 9 * generator.intBetween(0, 100), generator.intBetween(0, 1_000));
          List<Step> steps = new ArrayList<>(steps(generator, 200));
          // Under a rate of 0 a level is whole tokens.
          steps.removeIf(step -> step.kind == 9 && step.a % 9 == 0);
          new Run(limit, 1e-6).go(steps);
        });
  }

  /**
   * Charges that come back in part by themselves, then thousands on top of them, so that the
   * history has to leave something out; then all of it goes back, the oldest rather early.
   */
  @Test
  void returnsBeyondTheHistory_giveNoMoreThanWithoutTheCharge() {
    Property.check(
        200,
        generator -> {
          int a = generator.intBetween(0, 1_000);
          int b = generator.intBetween(0, 1_000);
          List<Step> steps = new ArrayList<>(steps(generator, 40));
          int many = generator.intBetween(0, 3 * DebtHistory.MAX_ENTRIES);
          for (int i = 0; i < many; i++) {
            int kind = generator.below(20) == 0 ? 6 : 0;
            steps.add(new Step(kind, generator.below(4), 0));
          }
          steps.addAll(steps(generator, 200));
          for (int i = generator.below(200); i > 0; i--) {
            steps.add(new Step(6, generator.below(1 + generator.below(40)), 0));
          }
          new Run(rate(a, b, LARGE), Double.MAX_VALUE, LARGE).go(steps);
        });
  }

  /** Something that happened to the bucket; charges that were returned are taken out. */
  private record Event(long nanos, long tokens, Limit limit, long number) {}

  /** One bucket and what happened to it. */
  private static final class Run {
    private final double tolerance;
    private final int bursts;
    private final List<Event> events = new ArrayList<>();
    private final List<Event> charges = new ArrayList<>();
    private final Limit first;
    private Limit limit;
    private final ConfinedTokenBucket bucket;
    private long nowNanos;
    private long number;

    Run(Limit limit, double tolerance) {
      this(limit, tolerance, 1);
    }

    Run(Limit limit, double tolerance, int bursts) {
      this.bursts = bursts;
      this.first = limit;
      this.limit = limit;
      this.tolerance = tolerance;
      this.bucket = new ConfinedTokenBucket(UnitScale.of(limit), 0, 0);
    }

    void go(List<Step> steps) {
      for (Step step : steps) {
        switch (step.kind) {
          case 0, 1, 2, 3 -> take(1 + step.a % 4);
          case 4, 5 -> pass(step.a % 3 == 0 ? step.b : step.b * 1_000_000L);
          case 9 -> configure(step.a, step.b);
          default -> giveBack(step.a);
        }
        if (bursts == 1 || step.kind >= 6) {
          agree();
        }
      }
    }

    private void pass(long nanos) {
      nowNanos += nanos;
    }

    private void take(long tokens) {
      if (bucket.has(tokens, nowNanos)) {
        Event charge = new Event(nowNanos, tokens, limit, ++number);
        bucket.take(tokens, charge.number, nowNanos);
        events.add(charge);
        charges.add(charge);
      }
    }

    private void giveBack(int index) {
      if (!charges.isEmpty()) {
        Event charge = charges.remove(index % charges.size());
        bucket.returnTokens(charge.tokens, charge.number, nowNanos);
        events.remove(charge);
      }
    }

    private void configure(int a, int b) {
      if (tolerance > 0) {
        limit = rate(a, b, bursts);
        events.add(new Event(nowNanos, 0, limit, ++number));
        bucket.configure(UnitScale.of(limit), number, nowNanos);
      }
    }

    private void agree() {
      double level = replay() / (double) UNITS_PER_TOKEN;
      assertThat(bucket.level(nowNanos)).isBetween(level - tolerance - 1e-9, level + 1e-9);
    }

    /**
     * Returns the level of a bucket of which only the charges that were not returned were taken.
     */
    private long replay() {
      Limit rule = first;
      long level = full(rule);
      long at = 0;
      for (Event event : events) {
        level = refill(rule, level, at, event.nanos);
        at = event.nanos;
        level -= event.tokens * UNITS_PER_TOKEN;
        assertThat(level).as("over-granted: %s of %s", event, events).isNotNegative();
        rule = event.limit;
        level = Math.min(level, full(rule));
      }
      return refill(rule, level, at, nowNanos);
    }

    private static long full(Limit rule) {
      return rule.capacity() * UNITS_PER_TOKEN;
    }

    private static long refill(Limit rule, long level, long fromNanos, long toNanos) {
      if (rule instanceof Limit.Rate rate) {
        long halves = Math.round(2 * rate.perSecond());
        return Math.min(full(rule), level + (toNanos - fromNanos) * halves);
      }
      return toNanos / PERIOD_NANOS > fromNanos / PERIOD_NANOS ? full(rule) : level;
    }
  }

  @Test
  void historyThatOverflows_returnsLess_neverMore() {
    int burst = 20 * DebtHistory.MAX_ENTRIES;
    ConfinedTokenBucket bucket =
        new ConfinedTokenBucket(UnitScale.of(new Limit.Rate(0, burst)), 0, 0);
    for (int i = 1; i <= burst; i++) {
      bucket.take(1, i, 0);
    }
    for (int i = 1; i <= burst; i++) {
      bucket.returnTokens(1, i, 0);
    }
    assertThat(bucket.level(0)).isBetween(burst * 0.99, burst - 1.0);
  }

  @Test
  void historyThatFits_returnsAll_inAnyOrder() {
    int burst = DebtHistory.MAX_ENTRIES;
    for (int step : new int[] {1, 7, 1_023}) {
      ConfinedTokenBucket bucket =
          new ConfinedTokenBucket(UnitScale.of(new Limit.Rate(0, burst)), 0, 0);
      for (int i = 1; i <= burst; i++) {
        bucket.take(1, i, 0);
      }
      for (int i = 0; i < burst; i++) {
        bucket.returnTokens(1, 1 + (long) i * step % burst, 0);
      }
      assertThat(bucket.level(0)).isEqualTo(burst);
    }
  }

  /** All but one of its tokens have come back by themselves before thousands of others go. */
  @Test
  void historyThatOverflows_keepsTheLowestDebtOfAnEarlyCharge() {
    int many = 4 * DebtHistory.MAX_ENTRIES;
    ConfinedTokenBucket bucket =
        new ConfinedTokenBucket(UnitScale.of(new Limit.Rate(1, 2 * many)), 0, 0);
    bucket.take(4, 1, 0);
    long nowNanos = 3 * PERIOD_NANOS;
    for (int i = 1; i <= many; i++) {
      bucket.take(1, 1 + i, nowNanos);
    }
    bucket.returnTokens(4, 1, nowNanos);
    assertThat(bucket.level(nowNanos)).isBetween(many - 1.0, (double) many);
  }
}
