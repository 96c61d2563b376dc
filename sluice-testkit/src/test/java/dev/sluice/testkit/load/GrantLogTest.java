package dev.sluice.testkit.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("any-jdk")
class GrantLogTest {
  @Test
  void maxExcess_agreesWithTryingEveryWindow() {
    Random random = new Random(7);
    for (int round = 0; round < 5_000; round++) {
      int size = 1 + random.nextInt(12);
      long[] times = random.longs(size, -20, 20).toArray();
      long[] tokens = random.longs(size, 0, 6).toArray();
      long capacity = random.nextInt(8);
      long rate = random.nextInt(5);
      long period = random.nextLong(1, 8);
      GrantLog log = new GrantLog();
      for (int i = 0; i < size; i++) {
        log.record(times[i], tokens[i]);
      }
      assertThat(log.maxExcess(capacity, rate, period))
          .as("round %d", round)
          .isEqualTo(everyWindow(times, tokens, capacity, rate, period));
    }
  }

  /** Tries every window from one grant to another, both ends included. */
  private static long everyWindow(
      long[] times, long[] tokens, long capacity, long rate, long period) {
    long worst = Long.MIN_VALUE;
    for (long from : times) {
      for (long to : times) {
        long sum = 0;
        for (int i = 0; i < times.length; i++) {
          sum += from <= times[i] && times[i] <= to ? tokens[i] : 0;
        }
        if (from <= to) {
          long beyond = (sum - capacity) * period - rate * (to - from);
          worst = Math.max(worst, -Math.floorDiv(-beyond, period));
        }
      }
    }
    return worst;
  }

  @Test
  void maxExcess_findsAGrantOneNanosecondTooEarly() {
    GrantLog log = new GrantLog();
    long period = 1_000_000_000;
    log.record(5, 10);
    log.record(5 + period, 3);
    assertThat(log.maxExcess(10, 3, period)).isZero();
    log.record(4 + period + period / 3, 1);
    assertThat(log.maxExcess(10, 3, period)).isEqualTo(1);
  }

  @Test
  void maxExcess_hugeNumbersAreExact() {
    GrantLog log = new GrantLog();
    log.record(Long.MIN_VALUE, Long.MAX_VALUE);
    log.record(Long.MAX_VALUE, 1);
    assertThat(log.maxExcess(Long.MAX_VALUE, 1, Long.MAX_VALUE)).isZero();
    assertThat(log.maxExcess(Long.MAX_VALUE, 0, Long.MAX_VALUE)).isEqualTo(1);
    assertThat(log.maxExcess(0, Long.MAX_VALUE, 1)).isEqualTo(Long.MAX_VALUE);
    assertThat(log.size()).isEqualTo(2);
    assertThatThrownBy(log::total).isInstanceOf(ArithmeticException.class);
  }

  @Test
  void maxExcess_ofAnEmptyLog_isMinusTheCapacity() {
    assertThat(new GrantLog().maxExcess(10, 1, 1)).isEqualTo(-10);
  }

  @Test
  void recordAll_addsTheGrantsOfTheOtherLog() {
    GrantLog one = new GrantLog();
    one.record(1, 2);
    GrantLog other = new GrantLog();
    other.record(1, 3);
    one.recordAll(other);
    one.recordAll(new GrantLog());
    assertThat(one.total()).isEqualTo(5);
    assertThat(one.size()).isEqualTo(2);
    assertThat(one.maxExcess(4, 1, 1)).isEqualTo(1);
  }

  @Test
  void invalidNumbers_areNamed() {
    GrantLog log = new GrantLog();
    assertThatThrownBy(() -> log.record(0, -1))
        .hasMessageContaining("tokens must not be negative, but was -1");
    assertThatThrownBy(() -> log.maxExcess(1, 1, 0)).hasMessageContaining("period=0");
  }
}
