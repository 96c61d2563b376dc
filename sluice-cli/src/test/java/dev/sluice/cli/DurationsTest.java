package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.cli.text.Durations;
import dev.sluice.cli.text.InvalidInputException;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {

  @ParameterizedTest
  @CsvSource({
    "0ns, 0",
    "7ns, 7",
    "1.5us, 1500",
    "650ms, 650000000",
    "0.000000001s, 1",
    "1.50s, 1500000000",
    "2m, 120000000000",
    "0.5h, 1800000000000",
    "1d, 86400000000000",
    "4611686018427387904ns, 4611686018427387904"
  })
  void parseNanos_isExact(String text, long nanos) {
    assertThat(Durations.parseNanos(text)).isEqualTo(nanos);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", "1", "s", "1 s", "-1s", "+1s", "1e3s", "1,5s", ".5s", "1.s", "1S", "1sec", "١s"
      })
  void parseNanos_malformed(String text) {
    assertThatThrownBy(() -> Durations.parseNanos(text))
        .isInstanceOf(InvalidInputException.class)
        .hasMessage(
            "a duration must be a number with the unit ns, us, ms, s, m, h or d, such as 1.5s, but was '"
                + text
                + "'");
  }

  @Test
  void parseNanos_outOfRange() {
    assertThatThrownBy(() -> Durations.parseNanos("4611686018427387905ns"))
        .hasMessage("a duration must be at most 146 years, but was '4611686018427387905ns'");
    assertThatThrownBy(() -> Durations.parseNanos("9999999999999999999d"))
        .hasMessage("a duration must be at most 146 years, but was '9999999999999999999d'");
    assertThatThrownBy(() -> Durations.parseNanos("1.5ns"))
        .hasMessage("a duration must be a whole number of nanoseconds, but was '1.5ns'");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0s",
    "1, 1ns",
    "1500, 1.5us",
    "650000000, 650ms",
    "1200000000, 1.2s",
    "2333333334, 2.333333334s",
    "60000000000, 1m",
    "90000000000, 90s",
    "7200000000000, 2h",
    "172800000000000, 2d"
  })
  void format_usesAReadableUnit(long nanos, String text) {
    assertThat(Durations.format(nanos)).isEqualTo(text);
  }

  @Test
  void format_canBeParsed() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 10_000; i++) {
      long nanos = random.nextLong(Limit.MAX_PERIOD.toNanos()) >>> random.nextInt(62);
      assertThat(Durations.parseNanos(Durations.format(nanos))).isEqualTo(nanos);
    }
  }

  @ParameterizedTest
  @CsvSource({"0, S", "2000000000, S", "200000000, MS", "2000, US", "2001, NS"})
  void commonUnit_dividesAll(long nanos, Durations.Unit unit) {
    assertThat(Durations.commonUnit(LongStream.of(0, 1_000_000_000, nanos))).isEqualTo(unit);
  }
}
