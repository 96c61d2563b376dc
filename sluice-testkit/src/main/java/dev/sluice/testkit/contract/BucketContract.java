package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Contract of token buckets, wherever their tokens are. A subclass creates the bucket.
 *
 * @since 0.1
 */
public abstract class BucketContract {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Limit TEN_PER_SECOND = new Limit.Balanced(10, 10, SECOND);

  /** A bucket under contract. */
  public interface Bucket {
    /** Takes tokens if all are available. */
    boolean tryConsume(long tokens);

    /** Takes tokens if all are available, and returns the decision. */
    Decision decide(long tokens);

    /** Returns the decision without taking tokens. */
    Decision peek(long tokens);

    /** Returns the whole tokens available. */
    long available();

    /** Returns the time until it is full. */
    Optional<Duration> timeToFull();

    /** Adds tokens. */
    void replenish(long tokens);

    /** Returns tokens. */
    void refund(long tokens);

    /** Fills it. */
    void reset();

    /** Changes the limit. */
    void reconfigure(Limit limit);

    /** The limit of the bucket. */
    Limit limit();
  }

  private Duration elapsed = Duration.ZERO;

  /** A new bucket, full; where tokens come back in periods, one begins now. */
  protected abstract Bucket bucket(Limit limit);

  /** The time that its buckets live in. */
  protected abstract ContractClock clock();

  private void advance(Duration time) {
    clock().advance(time);
    elapsed = elapsed.plus(time);
  }

  /** Goes on to so many milliseconds after the start. */
  private void at(long millis) {
    advance(Duration.ofMillis(millis).minus(elapsed));
  }

  private static void assertNextToken(Bucket bucket, long tokens, Duration after) {
    assertThat(bucket.available()).isEqualTo(tokens);
    assertThat(bucket.peek(tokens + 1)).isEqualTo(new Decision.Denied("", after.toNanos()));
  }

  /** A row of scenario 1; {@code lastUpdateMs} is where the sub-token remainder counts from. */
  private record Row(
      long ms, long request, long minted, long before, long after, boolean ok, long lastUpdateMs) {}

  private static final List<Row> SCENARIO_1 =
      List.of(
          new Row(0, 7, 0, 10, 3, true, 0),
          new Row(200, 5, 2, 5, 0, true, 200),
          new Row(650, 3, 4, 4, 1, true, 600),
          new Row(1200, 6, 6, 7, 1, true, 1200),
          new Row(1800, 5, 6, 7, 2, true, 1800),
          new Row(2100, 10, 3, 5, 5, false, 2100),
          new Row(2600, 10, 5, 10, 0, true, 2600));

  @Test
  void scenario1_everyRow() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    long previous = 10;
    long[] consumed = new long[3];
    for (Row row : SCENARIO_1) {
      at(row.ms);
      assertThat(bucket.available()).as("budget after mint at %s ms", row.ms).isEqualTo(row.before);
      assertThat(row.before - previous).as("minted at %s ms", row.ms).isEqualTo(row.minted);
      assertThat(bucket.tryConsume(row.request)).as("request at %s ms", row.ms).isEqualTo(row.ok);
      assertNextToken(bucket, row.after, Duration.ofMillis(row.lastUpdateMs + 100 - row.ms));
      previous = row.after;
      consumed[(int) (row.ms / 1000)] += row.ok ? row.request : 0;
    }
    assertThat(consumed).containsExactly(15, 11, 10);
  }

  @Test
  void comparison_subTokenLeftover_mintsNothingAndKeepsTheRemainder() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    assertThat(bucket.tryConsume(6)).isTrue();
    at(75);
    assertNextToken(bucket, 4, Duration.ofMillis(25));
  }

  @Test
  void comparison_longIdleWhileFull_burnsTheIdleTime() {
    Bucket bucket = bucket(new Limit.Balanced(5, 5, SECOND));
    at(2500);
    assertThat(bucket.available()).isEqualTo(5);
    assertThat(bucket.tryConsume(5)).isTrue();
    assertNextToken(bucket, 0, Duration.ofMillis(200));
  }

  @Test
  void comparison_overfullUpdate_discardsTheLeftover() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    assertThat(bucket.tryConsume(2)).isTrue();
    at(300);
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.tryConsume(10)).isTrue();
    assertNextToken(bucket, 0, Duration.ofMillis(100));
  }

  /** A row of the high-rate table. */
  private record Batch(
      long ms, long before, long minted, int requests, int accepted, int rejected, long after) {}

  private static final List<Batch> HIGH_RATE =
      List.of(
          new Batch(0, 10, 0, 12, 10, 2, 0),
          new Batch(5, 0, 5, 7, 5, 2, 0),
          new Batch(10, 0, 5, 15, 5, 10, 0),
          new Batch(12, 0, 2, 3, 2, 1, 0),
          new Batch(20, 0, 8, 25, 8, 17, 0),
          new Batch(30, 0, 10, 9, 9, 0, 1),
          new Batch(31, 1, 1, 3, 2, 1, 0),
          new Batch(40, 0, 9, 20, 9, 11, 0));

  @Test
  void highRate_everyRow() {
    Bucket bucket = bucket(new Limit.Balanced(10, 10, Duration.ofMillis(10)));
    for (Batch batch : HIGH_RATE) {
      at(batch.ms);
      assertThat(bucket.available())
          .as("after mint at %s ms", batch.ms)
          .isEqualTo(batch.before + batch.minted);
      long granted = IntStream.range(0, batch.requests).filter(i -> bucket.tryConsume(1)).count();
      assertThat(granted).as("accepted at %s ms", batch.ms).isEqualTo(batch.accepted);
      assertThat(batch.requests - granted).isEqualTo(batch.rejected);
      assertNextToken(bucket, batch.after, Duration.ofMillis(1));
    }
  }

  @Test
  void nineteenTokensInOneInstant_areDenied() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    assertThat(bucket.tryConsume(1)).isTrue();
    assertThat(bucket.tryConsume(9)).isTrue();
    at(1000);
    assertThat(bucket.tryConsume(9)).isTrue();
    assertThat(bucket.tryConsume(10)).isFalse();
    assertThat(bucket.available()).isEqualTo(1);
  }

  @Test
  void decide_whenGranted_returnsRemainingTokens() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Granted(7));
    assertThat(bucket.decide(7)).isEqualTo(new Decision.Granted(0));
    assertThat(bucket.decide(0)).isEqualTo(new Decision.Granted(0));
  }

  private static final List<Limit> REFILLING =
      List.of(
          TEN_PER_SECOND,
          new Limit.Balanced(3, 3, SECOND),
          new Limit.Balanced(100, 7, Duration.ofMillis(11)),
          new Limit.Balanced(1, 1, Duration.ofDays(7_300)),
          new Limit.Balanced(1_000_000_007, 999_999_937, SECOND),
          new Limit.Rate(0.3, 2.5),
          new Limit.Rate(1234.5678, 3),
          new Limit.Strict(4, SECOND),
          new Limit.Strict(1, Duration.ofHours(1)));

  @Test
  void decide_whenDenied_retryAfterIsMinimalAndSufficient() {
    for (Limit limit : REFILLING) {
      Bucket bucket = bucket(limit);
      advance(Duration.ofMillis(17));
      long capacity = limit.capacity();
      assertThat(bucket.decide(capacity)).as("%s", limit).isEqualTo(new Decision.Granted(0));
      for (long tokens : new long[] {1, capacity / 2 + 1, capacity}) {
        Duration wait = waitOf(bucket.decide(tokens));
        advance(wait.minus(clock().tick()));
        assertThat(bucket.tryConsume(tokens)).as("%s of %s too early", tokens, limit).isFalse();
        advance(clock().tick());
        assertThat(bucket.tryConsume(tokens)).as("%s of %s in time", tokens, limit).isTrue();
        bucket.tryConsume(bucket.available());
      }
    }
  }

  private static Duration waitOf(Decision decision) {
    assertThat(decision).isInstanceOf(Decision.Denied.class);
    return ((Decision.Denied) decision).retryAfter();
  }

  @Test
  void decide_beyondTheCapacity_isImpossibleAndTakesNothing() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    for (long tokens : new long[] {11, 1L << 53, Long.MAX_VALUE}) {
      assertThat(bucket.decide(tokens)).isEqualTo(new Decision.Impossible("", 10));
      assertThat(bucket.peek(tokens)).isEqualTo(new Decision.Impossible("", 10));
      assertThat(bucket.tryConsume(tokens)).isFalse();
    }
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void zeroTokens_areAlwaysGranted() {
    for (Limit limit : List.of(TEN_PER_SECOND, new Limit.Manual(10), new Limit.DenyAll())) {
      Bucket bucket = bucket(limit);
      bucket.tryConsume(10);
      assertThat(bucket.tryConsume(0)).isTrue();
      assertThat(bucket.decide(0)).isEqualTo(new Decision.Granted(0));
      assertThat(bucket.peek(0)).isEqualTo(new Decision.Granted(0));
    }
  }

  @Test
  void negativeTokens_areRefusedByName() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    List<Runnable> calls =
        List.of(
            () -> bucket.tryConsume(-1),
            () -> bucket.decide(-1),
            () -> bucket.peek(-1),
            () -> bucket.replenish(-1),
            () -> bucket.refund(-1));
    for (Runnable call : calls) {
      assertThatThrownBy(call::run)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("tokens must not be negative, but was -1");
    }
    assertThat(bucket.available()).isEqualTo(10);
  }

  @Test
  void peek_takesNothing() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    assertThat(bucket.peek(10)).isEqualTo(new Decision.Granted(0));
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
  }

  @Test
  void manual_refillsOnlyByReplenishRefundOrReset() {
    Bucket bucket = bucket(new Limit.Manual(5));
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
    assertThat(bucket.decide(4)).isEqualTo(new Decision.Granted(1));
    assertThat(bucket.timeToFull()).isEmpty();
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Depleted("", 2));
    advance(Duration.ofDays(400));
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Depleted("", 2));
    bucket.replenish(2);
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Granted(0));
    bucket.refund(Long.MAX_VALUE);
    assertThat(bucket.available()).isEqualTo(5);
    bucket.tryConsume(5);
    bucket.reset();
    assertThat(bucket.available()).isEqualTo(5);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
  }

  @Test
  void denyAll_grantsNothing() {
    Bucket bucket = bucket(new Limit.DenyAll());
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Impossible("", 0));
    bucket.replenish(5);
    bucket.reset();
    advance(Duration.ofDays(1));
    assertThat(bucket.tryConsume(1)).isFalse();
    assertThat(bucket.available()).isZero();
  }

  @Test
  void rate_countsFractions() {
    Bucket bucket = bucket(new Limit.Rate(0.5, 2.5));
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Impossible("", 2));
    assertThat(bucket.decide(2)).isEqualTo(new Decision.Granted(0));
    assertNextToken(bucket, 0, SECOND);
    assertThat(bucket.timeToFull()).contains(Duration.ofSeconds(4));
    advance(Duration.ofSeconds(3));
    assertThat(bucket.decide(2)).isEqualTo(new Decision.Granted(0));
    assertNextToken(bucket, 0, Duration.ofSeconds(2));
  }

  @Test
  void rate_withABurstBelowOne_grantsNothing() {
    Bucket bucket = bucket(new Limit.Rate(100, 0.5));
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Impossible("", 0));
    advance(Duration.ofHours(1));
    assertThat(bucket.tryConsume(1)).isFalse();
  }

  @Test
  void rate_ofZero_grantsItsBurstOnce() {
    Bucket bucket = bucket(new Limit.Rate(0, 2));
    assertThat(bucket.decide(2)).isEqualTo(new Decision.Granted(0));
    advance(Duration.ofDays(1));
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Depleted("", 1));
    assertThat(bucket.timeToFull()).isEmpty();
  }

  @Test
  void strict_refillsAtPeriodBoundariesOnly() {
    Bucket bucket = bucket(new Limit.Strict(5, SECOND));
    assertThat(bucket.decide(4)).isEqualTo(new Decision.Granted(1));
    at(999);
    assertNextToken(bucket, 1, Duration.ofMillis(1));
    assertThat(bucket.timeToFull()).contains(Duration.ofMillis(1));
    at(1000);
    assertThat(bucket.decide(3)).isEqualTo(new Decision.Granted(2));
    at(2500);
    assertThat(bucket.available()).as("nothing carries over").isEqualTo(5);
    assertThat(bucket.decide(5)).isEqualTo(new Decision.Granted(0));
    assertThat(bucket.decide(5)).isEqualTo(new Decision.Denied("", 500_000_000));
  }

  @Test
  void timeToFull_countsDown() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
    bucket.tryConsume(7);
    assertThat(bucket.timeToFull()).contains(Duration.ofMillis(700));
    at(450);
    assertThat(bucket.timeToFull()).contains(Duration.ofMillis(250));
    at(700);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
  }

  @Test
  void replenish_addsUpToTheCapacity_andKeepsTheFraction() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    bucket.tryConsume(8);
    at(150);
    bucket.replenish(2);
    assertNextToken(bucket, 5, Duration.ofMillis(50));
    bucket.replenish(0);
    assertNextToken(bucket, 5, Duration.ofMillis(50));
    bucket.replenish(Long.MAX_VALUE);
    assertThat(bucket.available()).isEqualTo(10);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
    bucket.tryConsume(4);
    bucket.refund(3);
    assertThat(bucket.available()).isEqualTo(9);
  }

  @Test
  void reset_fills() {
    for (Limit limit :
        List.of(TEN_PER_SECOND, new Limit.Strict(10, SECOND), new Limit.Manual(10))) {
      Bucket bucket = bucket(limit);
      bucket.tryConsume(10);
      bucket.reset();
      assertThat(bucket.decide(10)).isEqualTo(new Decision.Granted(0));
    }
  }

  @Test
  void reconfigure_keepsTheTokens() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    bucket.tryConsume(4);
    bucket.reconfigure(new Limit.Balanced(100, 1, SECOND));
    assertThat(bucket.limit()).isEqualTo(new Limit.Balanced(100, 1, SECOND));
    assertNextToken(bucket, 6, SECOND);
    at(2500);
    assertThat(bucket.available()).isEqualTo(8);
    bucket.reconfigure(new Limit.Balanced(5, 10, SECOND));
    assertThat(bucket.available()).as("clamped").isEqualTo(5);
    assertThat(bucket.timeToFull()).contains(Duration.ZERO);
    bucket.reconfigure(new Limit.Balanced(8, 10, SECOND));
    assertNextToken(bucket, 5, Duration.ofMillis(100));
  }

  @Test
  void reconfigure_ofAFullBucket_addsNothing() {
    for (Limit limit :
        List.of(TEN_PER_SECOND, new Limit.Manual(10), new Limit.Strict(10, Duration.ofDays(1)))) {
      Bucket bucket = bucket(limit);
      bucket.reconfigure(new Limit.Manual(1_000));
      assertThat(bucket.available()).as("%s", limit).isEqualTo(10);
      bucket.reconfigure(new Limit.Balanced(500, 1, SECOND));
      advance(Duration.ofMillis(1500));
      assertThat(bucket.available()).isEqualTo(11);
    }
  }

  @Test
  void reconfigure_appliesTheNewRate_beforeTheNextUse() {
    Bucket bucket = bucket(new Limit.Balanced(10, 1000, SECOND));
    bucket.tryConsume(10);
    bucket.reconfigure(new Limit.Balanced(1_000, 1, SECOND));
    advance(Duration.ofSeconds(5));
    assertThat(bucket.decide(1_000))
        .isEqualTo(new Decision.Denied("", Duration.ofSeconds(995).toNanos()));
  }

  @Test
  void reconfigure_keepsTheFraction() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    bucket.tryConsume(10);
    at(50);
    bucket.reconfigure(new Limit.Balanced(10, 1, SECOND));
    assertNextToken(bucket, 0, Duration.ofMillis(500));
    bucket.reconfigure(new Limit.Balanced(10, 1, SECOND));
    assertNextToken(bucket, 0, Duration.ofMillis(500));
  }

  @Test
  void reconfigure_betweenKinds_keepsTheTokens() {
    Bucket bucket = bucket(TEN_PER_SECOND);
    bucket.tryConsume(7);
    bucket.reconfigure(new Limit.Manual(20));
    at(1500);
    assertThat(bucket.decide(4)).isEqualTo(new Decision.Depleted("", 1));
    bucket.reconfigure(new Limit.Strict(6, SECOND));
    assertNextToken(bucket, 3, Duration.ofMillis(500));
    at(2000);
    assertThat(bucket.decide(4)).isEqualTo(new Decision.Granted(2));
    bucket.reconfigure(new Limit.Rate(0.5, 2.5));
    assertThat(bucket.decide(2)).isEqualTo(new Decision.Granted(0));
    bucket.reconfigure(new Limit.DenyAll());
    assertThat(bucket.decide(1)).isEqualTo(new Decision.Impossible("", 0));
    bucket.reconfigure(TEN_PER_SECOND);
    assertNextToken(bucket, 0, Duration.ofMillis(100));
  }

  @Test
  void buckets_shareNoTokens() {
    Bucket one = bucket(TEN_PER_SECOND);
    Bucket other = bucket(TEN_PER_SECOND);
    one.tryConsume(10);
    assertThat(other.available()).isEqualTo(10);
  }

  private record Grant(Duration at, long tokens) {}

  @Test
  void everyWindow_isGrantedAtMostCapacityAndRate() {
    Random random = new Random(7);
    for (Limit.Balanced limit :
        List.of(
            new Limit.Balanced(10, 10, SECOND),
            new Limit.Balanced(3, 7, Duration.ofMillis(11)),
            new Limit.Balanced(50, 1, Duration.ofMillis(333)))) {
      Bucket bucket = bucket(limit);
      List<Grant> grants = new ArrayList<>();
      long tokenMicros = limit.refillPeriod().toNanos() / 1_000 / limit.refillTokens();
      for (int i = 0; i < 150; i++) {
        advance(Duration.ofNanos(1_000 * (long) (random.nextDouble() * 3 * tokenMicros)));
        long tokens = 1L + random.nextInt((int) limit.capacity());
        if (bucket.tryConsume(tokens)) {
          grants.add(new Grant(elapsed, tokens));
        }
      }
      assertThat(grants).hasSizeGreaterThan(10);
      assertWithin(limit, grants);
    }
  }

  private static void assertWithin(Limit.Balanced limit, List<Grant> grants) {
    for (int from = 0; from < grants.size(); from++) {
      long total = 0;
      for (int to = from; to < grants.size(); to++) {
        total += grants.get(to).tokens;
        long nanos = grants.get(to).at.minus(grants.get(from).at).toNanos();
        long period = limit.refillPeriod().toNanos(); // tokens times period: nothing is rounded
        assertThat((total - limit.capacity()) * period)
            .as("grants %s to %s of %s", from, to, limit)
            .isLessThanOrEqualTo(nanos * limit.refillTokens());
      }
    }
  }
}
