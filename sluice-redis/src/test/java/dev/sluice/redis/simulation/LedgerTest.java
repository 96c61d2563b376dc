package dev.sluice.redis.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The checker finds a fleet guilty of a single token, wherever that is. */
@Tag("any-jdk")
final class LedgerTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final int CAPACITY = 10;
  private static final int SECONDS = 20;
  private static final double PER_NANO = 1.0 / SECOND;

  private final Ledger ledger = new Ledger();

  /** All that a limit of 10 and one a second allows: the burst, and each token when it accrues. */
  @BeforeEach
  void useTheLimitUp() {
    grant(0, CAPACITY);
    for (int i = 1; i <= SECONDS; i++) {
      grant(i * SECOND, 1);
    }
  }

  private void grant(long nanos, double tokens) {
    ledger.add(new Ledger.Grant(nanos, nanos, tokens, 0, "node" + nanos % 3));
  }

  private Ledger.Worst worst() {
    return ledger.worstWindow(CAPACITY, PER_NANO, 0, Long.MAX_VALUE);
  }

  @Test
  void limitThatIsUsedUp_isNotExceeded() {
    assertThat(worst().excess()).isZero();
  }

  @Test
  void oneTokenTooMany_isFound_atAnyTime() {
    for (int i = 0; i <= SECONDS; i++) {
      grant(i * SECOND, 1);
      assertThat(worst().excess()).as("one more at %d s", i).isEqualTo(i + 1.0);
    }
  }

  @Test
  void tokenThatIsGrantedBeforeItAccrues_isFound() {
    grant(SECONDS * SECOND + SECOND / 2, 1);
    assertThat(worst().excess()).isEqualTo(0.5);
    assertThat(worst().toNanos()).isEqualTo(SECONDS * SECOND + SECOND / 2);
  }

  @Test
  void oneTokenTooMany_inAPeriodOfAStrictLimit_isFound() {
    long period = 10 * SECOND;
    assertThat(ledger.worstPeriod(19, period, 0, Long.MAX_VALUE).excess()).isZero();
    grant(period - 1, 1);
    assertThat(ledger.worstPeriod(19, period, 0, Long.MAX_VALUE).excess()).isEqualTo(1);
    assertThat(ledger.worstPeriod(19, period, period, Long.MAX_VALUE).excess()).isNegative();
  }
}
