package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.properties.BucketModel;
import dev.sluice.properties.Generator;
import dev.sluice.properties.Property;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The bucket against the exact model: same answers, every window within bounds, honest waits. */
final class ModelPropertyTest {
  private static final long[] CAPACITIES = {2, 999_983};
  private static final long[] PERIODS = {7, 1_000_000_000, 999_999_937};

  /** A call: {@code advanceNanos} later, {@code tokens} are asked for. */
  record Step(long advanceNanos, long tokens, Kind kind) {}

  enum Kind {
    CONSUME,
    DECIDE,
    REPLENISH,
    READ
  }

  record Grant(long nanos, long tokens) {}

  @Test
  void decisions_agreeWithTheModel() {
    Property.check(
        2_000,
        generator -> {
          Limit limit = limit(generator);
          List<Step> steps = steps(generator);
          long origin = origin(generator);
          ManualClock clock = ManualClock.startingAt(origin);
          TokenBucket bucket = TokenBucket.builder().limit(limit).clock(clock).build();
          BucketModel model = BucketModel.of(Refills.of(limit), limit.capacity(), origin);
          for (Step step : scaledTo(limit, steps)) {
            clock.advanceNanos(step.advanceNanos);
            long now = clock.nanoTime();
            switch (step.kind) {
              case CONSUME -> {
                Optional<BucketModel> taken = model.take(step.tokens, now);
                assertThat(bucket.tryAcquire(step.tokens)).isEqualTo(taken.isPresent());
                model = taken.orElse(model);
              }
              case DECIDE -> model = decideAlike(bucket, model, step.tokens, now);
              case REPLENISH -> {
                bucket.replenish(step.tokens);
                model = model.give(step.tokens, now);
              }
              case READ -> {}
            }
            assertThat(bucket.available())
                .isEqualTo(model.available(now))
                .isBetween(0L, limit.capacity());
          }
        });
  }

  /** Compares the decisions of both; returns the model after its decision. */
  private static BucketModel decideAlike(
      TokenBucket bucket, BucketModel model, long tokens, long now) {
    BigInteger wait = model.waitNanos(tokens, now);
    Decision peeked = bucket.peek(tokens);
    Decision decision = bucket.decide(tokens);
    assertThat(peeked).isEqualTo(decision);
    Optional<BucketModel> taken = model.take(tokens, now);
    if (taken.isPresent()) {
      assertThat(((Decision.Granted) decision).remaining()).isEqualTo(taken.get().available(now));
    } else if (tokens > bucket.limit().capacity()) {
      assertThat(decision).isInstanceOf(Decision.Impossible.class);
    } else if (wait.signum() < 0) {
      assertThat(((Decision.Depleted) decision).missing()).isEqualTo(tokens - model.available(now));
    } else {
      assertThat(BigInteger.valueOf(((Decision.Denied) decision).retryAfterNanos()))
          .isEqualTo(wait);
    }
    return taken.orElse(model);
  }

  @Test
  void everyWindow_holdsAtMostCapacityPlusAccrual() {
    Property.check(
        1_000,
        generator -> {
          Limit.Balanced limit = balanced(generator);
          List<Step> steps = steps(generator);
          ManualClock clock = ManualClock.create();
          TokenBucket bucket = TokenBucket.builder().limit(limit).clock(clock).build();
          List<Grant> grants = new ArrayList<>();
          for (Step step : scaledTo(limit, steps)) {
            clock.advanceNanos(step.advanceNanos);
            if (step.tokens > 0 && bucket.tryAcquire(step.tokens)) {
              grants.add(new Grant(clock.nanoTime(), step.tokens));
            }
          }
          Windows.assertBounded(grants, limit);
        });
  }

  @Test
  void everyWindow_holdsUnderJumbledClockReadings() {
    Property.check(
        1_000,
        generator -> {
          Limit.Balanced limit = balanced(generator);
          List<Step> steps = steps(generator);
          TokenBucket bucket =
              TokenBucket.builder().limit(limit).clock(ManualClock.create()).build();
          List<Grant> grants = new ArrayList<>();
          long latest = 0;
          for (Step step : scaledTo(limit, steps)) {
            latest += step.advanceNanos;
            // Two readings of three are stale, like those of a descheduled thread.
            long now =
                step.tokens % 3 == 0
                    ? latest
                    : latest - step.tokens % 1_000 * step.advanceNanos / 999;
            if (step.tokens > 0 && bucket.tryAcquire(step.tokens, now)) {
              grants.add(new Grant(now, step.tokens));
            }
          }
          Windows.assertBounded(grants, limit);
        });
  }

  @Test
  void retryAfter_isMinimalAndSufficient_fromAnyState() {
    Property.check(
        1_000,
        generator -> {
          Limit limit = refilling(generator);
          List<Step> steps = steps(generator);
          ManualClock clock = ManualClock.create();
          ReplaceableClock readings = new ReplaceableClock(clock);
          TokenBucket bucket = TokenBucket.builder().limit(limit).clock(readings).build();
          for (Step step : scaledTo(limit, steps)) {
            clock.advanceNanos(step.advanceNanos);
            if (bucket.decide(step.tokens) instanceof Decision.Denied denied) {
              long retryAt = clock.nanoTime() + denied.retryAfterNanos();
              assertThat(isGrantedAt(readings, retryAt - 1, bucket, step.tokens)).isFalse();
              assertThat(isGrantedAt(readings, retryAt, bucket, step.tokens)).isTrue();
              assertThat(bucket.timeToFull().orElseThrow())
                  .isGreaterThanOrEqualTo(denied.retryAfter());
            }
          }
        });
  }

  @Test
  void timeToFull_isMinimalAndSufficient() {
    Property.check(
        1_000,
        generator -> {
          Limit limit = refilling(generator);
          List<Step> steps = steps(generator);
          ManualClock clock = ManualClock.create();
          ReplaceableClock readings = new ReplaceableClock(clock);
          TokenBucket bucket = TokenBucket.builder().limit(limit).clock(readings).build();
          for (Step step : scaledTo(limit, steps)) {
            clock.advanceNanos(step.advanceNanos);
            bucket.tryAcquire(step.tokens);
            long full = clock.nanoTime() + bucket.timeToFull().orElseThrow().toNanos();
            assertThat(isGrantedAt(readings, full, bucket, limit.capacity())).isTrue();
            if (full != clock.nanoTime()) {
              assertThat(isGrantedAt(readings, full - 1, bucket, limit.capacity())).isFalse();
            }
          }
        });
  }

  private static boolean isGrantedAt(
      ReplaceableClock clock, long nanos, TokenBucket bucket, long tokens) {
    return clock.at(nanos, () -> bucket.peek(tokens)).isGranted();
  }

  private static Limit limit(Generator generator) {
    return switch (generator.below(4)) {
      case 0, 1 -> refilling(generator);
      case 2 -> new Limit.Manual(capacity(generator));
      default -> new Limit.DenyAll();
    };
  }

  private static Limit refilling(Generator generator) {
    return generator.nextBoolean()
        ? balanced(generator)
        : new Limit.Strict(generator.longBetween(1, 1L << 30, CAPACITIES), period(generator));
  }

  /** Limits with exact units; those without are covered by {@link RateTest}. */
  private static Limit.Balanced balanced(Generator generator) {
    while (true) {
      Limit.Balanced limit =
          new Limit.Balanced(capacity(generator), capacity(generator), period(generator));
      if (isExact(limit)) {
        return limit;
      }
    }
  }

  private static List<Step> steps(Generator generator) {
    return generator.list(
        1,
        60,
        each ->
            new Step(
                each.longBetween(0, 1_000_000),
                each.longBetween(0, 1_000_000),
                each.pick(Kind.values())));
  }

  private static long origin(Generator generator) {
    return generator.longBetween(Long.MIN_VALUE, Long.MAX_VALUE);
  }

  private static long capacity(Generator generator) {
    return generator.longBetween(1, 1L << 40, CAPACITIES);
  }

  private static Duration period(Generator generator) {
    long longest = Duration.ofDays(40_000).toNanos();
    return Duration.ofNanos(generator.longBetween(1, longest, PERIODS));
  }

  static boolean isExact(Limit.Balanced limit) {
    try {
      UnitScale scale = UnitScale.of(limit);
      BigInteger mintedPerPeriod =
          BigInteger.valueOf(scale.unitsPerStep())
              .multiply(BigInteger.valueOf(limit.refillPeriod().toNanos()));
      BigInteger cost =
          BigInteger.valueOf(scale.unitsPerToken())
              .multiply(BigInteger.valueOf(limit.refillTokens()));
      return mintedPerPeriod.equals(cost);
    } catch (IllegalArgumentException outOfRange) {
      return false;
    }
  }

  /**
   * Stretches raw steps so that they matter to the limit: requests up to a little over the
   * capacity, times up to about two fillings.
   */
  private static List<Step> scaledTo(Limit limit, List<Step> steps) {
    double fillNanos =
        limit instanceof Limit.Balanced b
            ? (double) b.refillPeriod().toNanos() / b.refillTokens() * b.capacity()
            : limit instanceof Limit.Strict s ? s.period().toNanos() : 1_000;
    double longestNanos = Math.min(2.0 * fillNanos, 1e17);
    return steps.stream()
        .map(
            step -> {
              // Squared, so that most steps are small against a filling and a few are not.
              double share = step.advanceNanos / 1e6;
              double part = step.tokens / 1e6;
              return new Step(
                  (long) (share * share * longestNanos),
                  (long) (part * part * (limit.capacity() + 1.0)),
                  step.kind);
            })
        .toList();
  }
}
