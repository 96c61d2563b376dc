package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.redis.internal.store.OutageGrantCounter;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class LocalCountTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  /** The offset of the clock of Redis from the timer of the store. */
  private static final long AHEAD = 5_000 * SECOND;

  private final OutageGrantCounter count = new OutageGrantCounter(BudgetListener.NONE, AHEAD);

  private void grant(long tokens, long nanos) {
    count.granted(OutageRig.request(tokens), tokens, 0, nanos);
  }

  private void refund(long tokens, long grantedNanos, long nanos) {
    count.settled(new TokenSettlement("sonnet", "", 0, 0, 0, tokens, 0, 0), grantedNanos, nanos);
  }

  @Test
  void refund_isSubtractedFromTheSecondOfItsGrant() {
    grant(100, 10 * SECOND);
    grant(50, 11 * SECOND);
    refund(70, 11 * SECOND - 1, 15 * SECOND);
    refund(20, 11 * SECOND, 15 * SECOND);
    assertThat(count.bySecond()).isEqualTo(Map.of(5_010L, 30L, 5_011L, 30L));
    assertThat(count.granted()).isEqualTo(150);
  }

  @Test
  void grant_afterTheSettlementOfAnOlderOne_countsInItsOwnSecond() {
    refund(0, 8 * SECOND, 10 * SECOND);
    grant(100, 10 * SECOND);
    assertThat(count.bySecond()).isEqualTo(Map.of(5_010L, 100L));
  }

  @Test
  void refund_ofAGrantThatWasNotCountedHere_countsNothing() {
    grant(100, 10 * SECOND);
    refund(70, 3 * SECOND, 10 * SECOND);
    assertThat(count.bySecond()).isEqualTo(Map.of(5_010L, 100L));
  }

  @Test
  void seconds_areCountedForAQuarterOfAnHour() {
    for (int i = 10; i < 2_010; i++) {
      grant(1, i * SECOND);
    }
    assertThat(count.bySecond()).hasSizeBetween(900, 1_024).containsKey(5_000L + 2_009);
  }
}
