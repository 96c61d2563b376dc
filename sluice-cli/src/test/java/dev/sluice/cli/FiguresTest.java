package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class FiguresTest {
  @Test
  void seconds_inTheUnitThatReadsBest() {
    assertThat(
            new String[] {
              Figures.seconds(Double.NaN),
              Figures.seconds(0),
              Figures.seconds(0.0004),
              Figures.seconds(0.1234),
              Figures.seconds(1.234),
              Figures.seconds(12.34),
              Figures.seconds(125),
              Figures.seconds(7_500)
            })
        .containsExactly("-", "0 s", "<1 ms", "123 ms", "1.23 s", "12.3 s", "2 m 05 s", "2 h 05 m");
  }

  @Test
  void numbers_withoutWhatSaysNothing() {
    assertThat(Figures.decimal(1_000)).isEqualTo("1,000");
    assertThat(Figures.decimal(0.5)).isEqualTo("0.5");
    assertThat(Figures.decimal(60)).isEqualTo("60");
    assertThat(Figures.plain(123_456)).isEqualTo("123500");
    assertThat(Figures.plain(0)).isEqualTo("0");
    assertThat(Figures.plain(Double.NaN)).isEmpty();
    assertThat(Figures.percent(0.1234)).isEqualTo("12.3 %");
  }

  @Test
  void fairShares_giveNobodyMoreThanItAsksFor() {
    double[] parts = FairShares.of(100, new double[] {1, 1, 2}, new double[] {10, 1_000, 1_000});
    assertThat(parts).containsExactly(new double[] {0.1, 0.3, 0.6}, within(1e-9));
    assertThat(FairShares.of(0, new double[] {1}, new double[] {5})).containsExactly(0);
  }
}
