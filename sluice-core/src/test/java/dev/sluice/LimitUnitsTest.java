package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.internal.bucket.LimitUnits;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Units in microseconds, against the fractions they stand for. */
final class LimitUnitsTest {
  private static final BigInteger MOST = BigInteger.ONE.shiftLeft(53);
  private static final BigInteger MILLION = BigInteger.valueOf(1_000_000);

  @Test
  void inMicros_isExactOrAMillionthSlower_neverFaster() {
    Random random = new Random(3);
    int fitting = 0;
    for (int i = 0; i < 20_000; i++) {
      long tokens = wide(random, 50);
      long period = wide(random, 61);
      Limit limit = new Limit.Balanced(wide(random, 50), tokens, Duration.ofNanos(period));
      fitting += check(limit, BigDecimal.valueOf(limit.capacity()), tokens, period) ? 1 : 0;
    }
    assertThat(fitting).isGreaterThan(5_000);
  }

  @Test
  void inMicros_ofFractions() {
    Random random = new Random(4);
    int fitting = 0;
    for (int i = 0; i < 20_000; i++) {
      int decimals = random.nextInt(7);
      long unscaled = wide(random, 30);
      double perSecond = BigDecimal.valueOf(unscaled, decimals).doubleValue();
      double burst = BigDecimal.valueOf(wide(random, 30), random.nextInt(4)).doubleValue();
      Limit limit = new Limit.Rate(perSecond, burst);
      long period = BigInteger.TEN.pow(9 + decimals).longValueExact();
      fitting += check(limit, BigDecimal.valueOf(burst), unscaled, period) ? 1 : 0;
    }
    assertThat(fitting).isGreaterThan(10_000);
  }

  /** Any magnitude is as likely as any other. */
  private static long wide(Random random, int bits) {
    return 1 + (random.nextLong() >>> (64 - 1 - random.nextInt(bits)));
  }

  private static boolean check(Limit limit, BigDecimal capacity, long tokens, long periodNanos) {
    LimitUnits units;
    try {
      units = LimitUnits.inMicros(limit);
    } catch (IllegalArgumentException refused) {
      assertThat(refused).hasMessageContaining(limit.toString());
      return false;
    }
    BigInteger cost = BigInteger.valueOf(units.unitsPerToken());
    // Units per token times tokens per microsecond: what a microsecond should mint, as a fraction.
    BigInteger due = cost.multiply(BigInteger.valueOf(tokens)).multiply(BigInteger.valueOf(1_000));
    BigInteger minted =
        BigInteger.valueOf(units.unitsPerStep()).multiply(BigInteger.valueOf(periodNanos));
    assertThat(minted).as("never faster: %s", limit).isLessThanOrEqualTo(due);
    assertThat(due.subtract(minted).multiply(MILLION))
        .as("a millionth slower at most: %s", limit)
        .isLessThanOrEqualTo(minted);
    assertThat(units.stepTicks()).isEqualTo(1);
    assertThat(cost).isLessThan(MOST);
    assertThat(BigInteger.valueOf(units.capacityUnits())).isLessThan(MOST);
    assertThat(BigInteger.valueOf(units.capacityUnits()))
        .as("whole units of the capacity: %s", limit)
        .isEqualTo(capacity.multiply(new BigDecimal(cost)).toBigInteger());
    return true;
  }

  @Test
  void inMicros_ofStrict_isItsGrid() {
    assertThat(LimitUnits.inMicros(new Limit.Strict(7, Duration.ofMillis(3))))
        .isEqualTo(new LimitUnits(1, 7, 3_000, 7));
  }

  @Test
  void inMicros_ofALimitWithoutRefill_accruesNothing() {
    assertThat(LimitUnits.inMicros(new Limit.Manual(7))).isEqualTo(new LimitUnits(1, 0, 1, 7));
    assertThat(LimitUnits.inMicros(new Limit.Rate(0, 2.5))).isEqualTo(new LimitUnits(1, 0, 1, 2));
    assertThat(LimitUnits.inMicros(new Limit.DenyAll())).isEqualTo(new LimitUnits(1, 0, 1, 0));
    assertThat(LimitUnits.inMicros(new Limit.Manual(7)).refills()).isFalse();
  }

  @Test
  void inMicros_ofALimitThatDoesNotFit_namesRuleAndLimit() {
    assertRefused(new Limit.Strict(1, Duration.ofNanos(1_500)), "whole microseconds");
    assertRefused(new Limit.Strict(1L << 53, Duration.ofSeconds(1)), "below 2^53");
    assertRefused(new Limit.Manual(1L << 53), "below 2^53");
    assertRefused(new Limit.Balanced(2, 1, Duration.ofDays(365 * 146)), "within 285 years");
    assertRefused(new Limit.Rate(1e300, 1), "2^40 units per 1000 ns");
  }

  private static void assertRefused(Limit limit, String rule) {
    assertThatThrownBy(() -> LimitUnits.inMicros(limit))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(rule)
        .hasMessageContaining(limit.toString());
  }
}
