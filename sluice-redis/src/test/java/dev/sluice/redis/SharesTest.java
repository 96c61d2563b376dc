package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What a node may grant by itself. */
class SharesTest {
  private static final long SECOND = 1_000_000_000L;

  private final AtomicLong serverNanos = new AtomicLong(1_794_800_000L * SECOND + 300_000_000);

  private static Rules rules(Limit.Rate rate) {
    return Rules.of(1, Map.of(Rules.fieldOfKey("key"), LimitText.write(rate)));
  }

  private Shares among(int nodes) {
    return new Shares(nodes, Rules.NONE, serverNanos::get);
  }

  private static long granted(Shares shares, Limit limit) {
    Demand one = new Demand("key", "place", Quota.of(limit), 0, 1);
    long granted = 0;
    while (shares.decide(one, true).orElseThrow().isGranted()) {
      granted++;
    }
    return granted;
  }

  @Test
  void strictShare_beginsAtTheBoundaryOfTheServersGrid() {
    Limit limit = new Limit.Strict(10, Duration.ofSeconds(1));
    Shares shares = among(2);
    assertThat(granted(shares, limit)).isZero();
    serverNanos.addAndGet(699_999_999);
    assertThat(granted(shares, limit)).isZero();
    serverNanos.addAndGet(1);
    assertThat(granted(shares, limit)).isEqualTo(5);
    serverNanos.addAndGet(SECOND);
    assertThat(granted(shares, limit)).isEqualTo(5);
  }

  @Test
  void limitThatCannotBeDivided_grantsNothing() {
    assertThat(granted(among(4), new Limit.Balanced(3, 1_000, Duration.ofNanos(1_000)))).isZero();
    assertThat(granted(among(4), Limit.per(4, Duration.ofDays(50_000)))).isZero();
    assertThat(granted(among(2), new Limit.DenyAll())).isZero();
    assertThat(granted(among(2), new Limit.Manual(100))).isZero();
  }

  @Test
  void rateThatCannotBeDivided_grantsNothing() {
    Limit.Rate slow = new Limit.Rate(3.2e-10, 1);
    Shares shares = new Shares(3, rules(slow), serverNanos::get);
    Demand one = new Demand("key", "place", Quota.of(slow), 0, 1);
    assertThat(shares.decide(List.of(one), true).orElseThrow().isGranted()).isFalse();
  }

  @Test
  void limitThatChanges_hasAnotherShare() {
    Shares shares = among(2);
    assertThat(granted(shares, new Limit.Manual(10))).isZero();
    Limit fast = new Limit.Balanced(100, 1_000_000_000, Duration.ofSeconds(1));
    Demand fifty = new Demand("key", "place", Quota.of(fast), 0, 50);
    long deadline = System.nanoTime() + 10 * SECOND;
    while (!shares.decide(fifty, true).orElseThrow().isGranted()) {
      assertThat(System.nanoTime()).isLessThan(deadline);
    }
    Demand more = new Demand("key", "place", Quota.of(fast), 0, 51);
    assertThat(shares.decide(more, true).orElseThrow().isGranted()).isFalse();
  }
}
