package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllowanceTest {
  @ParameterizedTest
  @ValueSource(longs = {0, Long.MAX_VALUE - 500_000_000})
  void legalAt_isCapacityAndRate(long start) {
    Allowance allowance = new Allowance(20, 10, start);
    assertThat(allowance.legalAt(start)).isEqualTo(20);
    assertThat(allowance.legalAt(start + 99_999_999)).isEqualTo(20);
    assertThat(allowance.legalAt(start + 100_000_000)).isEqualTo(21);
    assertThat(allowance.legalAt(start + 1_000_000_000)).isEqualTo(30);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, Long.MAX_VALUE - 500_000_000})
  void changeRate_keepsWhatWasEarned(long start) {
    Allowance allowance = new Allowance(20, 10, start);
    allowance.changeRate(40, start + 150_000_000);
    assertThat(allowance.perSecond()).isEqualTo(40);
    assertThat(allowance.legalAt(start + 150_000_000)).isEqualTo(21);
    assertThat(allowance.legalAt(start + 162_500_000)).isEqualTo(22);
    assertThat(allowance.legalAt(start + 1_150_000_000)).isEqualTo(61);
  }
}
