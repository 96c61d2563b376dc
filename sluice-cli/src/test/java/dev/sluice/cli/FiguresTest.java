package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.cli.simulate.scenario.MaxMinFairShare;
import dev.sluice.cli.text.FigureFormat;
import org.junit.jupiter.api.Test;

class FiguresTest {
  @Test
  void seconds_areShownInAReadableUnit() {
    assertThat(
            new String[] {
              FigureFormat.seconds(Double.NaN),
              FigureFormat.seconds(0),
              FigureFormat.seconds(0.0004),
              FigureFormat.seconds(0.1234),
              FigureFormat.seconds(1.234),
              FigureFormat.seconds(12.34),
              FigureFormat.seconds(125),
              FigureFormat.seconds(7_500)
            })
        .containsExactly("-", "0 s", "<1 ms", "123 ms", "1.23 s", "12.3 s", "2 m 05 s", "2 h 05 m");
  }

  @Test
  void numbers_omitInsignificantDigits() {
    assertThat(FigureFormat.decimal(1_000)).isEqualTo("1,000");
    assertThat(FigureFormat.decimal(0.5)).isEqualTo("0.5");
    assertThat(FigureFormat.decimal(60)).isEqualTo("60");
    assertThat(FigureFormat.plain(123_456)).isEqualTo("123500");
    assertThat(FigureFormat.plain(0)).isEqualTo("0");
    assertThat(FigureFormat.plain(Double.NaN)).isEmpty();
    assertThat(FigureFormat.percent(0.1234)).isEqualTo("12.3 %");
  }

  @Test
  void fairShares_neverExceedTheDemand() {
    double[] parts =
        MaxMinFairShare.of(100, new double[] {1, 1, 2}, new double[] {10, 1_000, 1_000});
    assertThat(parts).containsExactly(new double[] {0.1, 0.3, 0.6}, within(1e-9));
    assertThat(MaxMinFairShare.of(0, new double[] {1}, new double[] {5})).containsExactly(0);
  }
}
