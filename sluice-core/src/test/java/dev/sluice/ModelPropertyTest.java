package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** The bucket against the exact model: same answers, every window within bounds, honest waits. */
final class ModelPropertyTest {

  /** A call: {@code advanceNanos} later, {@code tokens} are asked for. */
  record Step(long advanceNanos, long tokens, Kind kind) {}

  enum Kind {
    CONSUME,
    DECIDE,
    REPLENISH,
    READ
  }

  record Grant(long nanos, long tokens) {}

  @Property(tries = 2_000)
  void answersLikeTheModel(
      @ForAll("limits") Limit limit,
      @ForAll("steps") List<Step> steps,
      @ForAll("origins") long origin) {
    ManualClock clock = ManualClock.startingAt(origin);
    TokenBucket bucket = TokenBucket.builder().limit(limit).clock(clock).build();
    BucketModel model = new BucketModel(limit, limit.capacity(), origin);
    for (Step step : scaledTo(limit, steps)) {
      clock.advanceNanos(step.advanceNanos);
      long now = clock.nanoTime();
      switch (step.kind) {
        case CONSUME ->
            assertThat(bucket.tryConsume(step.tokens))
                .isEqualTo(model.tryConsume(step.tokens, now));
        case DECIDE -> assertSameDecision(bucket, model, step.tokens, now);
        case REPLENISH -> {
          bucket.replenish(step.tokens);
          model.replenish(step.tokens, now);
        }
        case READ -> {}
      }
      assertThat(bucket.available())
          .isEqualTo(model.available(now))
          .isBetween(0L, limit.capacity());
    }
  }

  private static void assertSameDecision(
      TokenBucket bucket, BucketModel model, long tokens, long now) {
    BigInteger wait = model.waitNanos(tokens, now);
    assertThat(bucket.peek(tokens)).isEqualTo(bucket.peek(tokens, now));
    Decision decision = bucket.decide(tokens);
    if (model.tryConsume(tokens, now)) {
      assertThat(((Decision.Granted) decision).remaining()).isEqualTo(model.available(now));
    } else if (tokens > bucket.limit().capacity()) {
      assertThat(decision).isInstanceOf(Decision.Impossible.class);
    } else if (wait.signum() < 0) {
      assertThat(((Decision.Depleted) decision).missing()).isEqualTo(tokens - model.available(now));
    } else {
      assertThat(BigInteger.valueOf(((Decision.Denied) decision).retryAfterNanos()))
          .isEqualTo(wait);
    }
  }

  @Property(tries = 1_000)
  void everyWindow_holdsAtMostCapacityPlusAccrual(
      @ForAll("balanced") Limit.Balanced limit, @ForAll("steps") List<Step> steps) {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = TokenBucket.builder().limit(limit).clock(clock).build();
    List<Grant> grants = new ArrayList<>();
    for (Step step : scaledTo(limit, steps)) {
      clock.advanceNanos(step.advanceNanos);
      if (step.tokens > 0 && bucket.tryConsume(step.tokens)) {
        grants.add(new Grant(clock.nanoTime(), step.tokens));
      }
    }
    Windows.assertBounded(grants, limit);
  }

  @Property(tries = 1_000)
  void everyWindow_holdsUnderJumbledClockReadings(
      @ForAll("balanced") Limit.Balanced limit, @ForAll("steps") List<Step> steps) {
    TokenBucket bucket = TokenBucket.builder().limit(limit).clock(ManualClock.create()).build();
    List<Grant> grants = new ArrayList<>();
    long latest = 0;
    for (Step step : scaledTo(limit, steps)) {
      latest += step.advanceNanos;
      // Two readings of three are late, as those of a thread that was descheduled are.
      long now =
          step.tokens % 3 == 0 ? latest : latest - step.tokens % 1_000 * step.advanceNanos / 999;
      if (step.tokens > 0 && bucket.tryConsume(step.tokens, now)) {
        grants.add(new Grant(now, step.tokens));
      }
    }
    Windows.assertBounded(grants, limit);
  }

  @Property(tries = 1_000)
  void retryAfter_isMinimalAndSufficient_fromAnyState(
      @ForAll("refilling") Limit limit, @ForAll("steps") List<Step> steps) {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = TokenBucket.builder().limit(limit).clock(clock).build();
    for (Step step : scaledTo(limit, steps)) {
      clock.advanceNanos(step.advanceNanos);
      if (bucket.decide(step.tokens) instanceof Decision.Denied denied) {
        long retryAt = clock.nanoTime() + denied.retryAfterNanos();
        assertThat(bucket.peek(step.tokens, retryAt - 1).isGranted()).isFalse();
        assertThat(bucket.peek(step.tokens, retryAt).isGranted()).isTrue();
        assertThat(bucket.timeToFull().orElseThrow()).isGreaterThanOrEqualTo(denied.retryAfter());
      }
    }
  }

  @Property(tries = 1_000)
  void timeToFull_isMinimalAndSufficient(
      @ForAll("refilling") Limit limit, @ForAll("steps") List<Step> steps) {
    ManualClock clock = ManualClock.create();
    TokenBucket bucket = TokenBucket.builder().limit(limit).clock(clock).build();
    for (Step step : scaledTo(limit, steps)) {
      clock.advanceNanos(step.advanceNanos);
      bucket.tryConsume(step.tokens);
      long full = clock.nanoTime() + bucket.timeToFull().orElseThrow().toNanos();
      assertThat(bucket.peek(limit.capacity(), full).isGranted()).isTrue();
      if (full != clock.nanoTime()) {
        assertThat(bucket.peek(limit.capacity(), full - 1).isGranted()).isFalse();
      }
    }
  }

  @Provide
  Arbitrary<Limit> limits() {
    return Arbitraries.oneOf(
        refilling(), capacities().map(Limit.Manual::new), Arbitraries.just(new Limit.DenyAll()));
  }

  @Provide
  Arbitrary<Limit> refilling() {
    Arbitrary<Limit> strict =
        Combinators.combine(capacities(), periods())
            .as((c, t) -> (Limit) new Limit.Strict(c, t))
            .filter(limit -> limit.capacity() <= 1L << 30);
    return Arbitraries.oneOf(balanced().map(limit -> limit), strict);
  }

  /** Limits with exact units; those without are covered by {@link RateTest}. */
  @Provide
  Arbitrary<Limit.Balanced> balanced() {
    return Combinators.combine(capacities(), capacities(), periods())
        .as(Limit.Balanced::new)
        .filter(ModelPropertyTest::isExact);
  }

  @Provide
  Arbitrary<List<Step>> steps() {
    Arbitrary<Step> step =
        Combinators.combine(
                Arbitraries.longs().between(0, 1_000_000),
                Arbitraries.longs().between(0, 1_000_000),
                Arbitraries.of(Kind.class))
            .as(Step::new);
    return step.list().ofMinSize(1).ofMaxSize(60);
  }

  @Provide
  Arbitrary<Long> origins() {
    return Arbitraries.longs().edgeCases(e -> e.add(0L, Long.MAX_VALUE, Long.MIN_VALUE, -1L));
  }

  private static Arbitrary<Long> capacities() {
    return Arbitraries.longs().between(1, 1L << 40).edgeCases(e -> e.add(1L, 2L, 999_983L));
  }

  private static Arbitrary<Duration> periods() {
    return Arbitraries.longs()
        .between(1, Duration.ofDays(40_000).toNanos())
        .edgeCases(e -> e.add(1L, 7L, 1_000_000_000L, 999_999_937L))
        .map(Duration::ofNanos);
  }

  static boolean isExact(Limit.Balanced limit) {
    try {
      Scale scale = Scale.of(limit);
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
