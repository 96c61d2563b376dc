package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.cli.simulate.scenario.ArrivalProcess;
import dev.sluice.cli.simulate.scenario.Distribution;
import dev.sluice.cli.simulate.scenario.Scenario;
import dev.sluice.cli.simulate.scenario.ScenarioFile;
import dev.sluice.cli.text.Durations;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArrivalsTest {
  private static final long SECOND = Durations.SECOND;
  private static final long HOUR = 3_600 * SECOND;

  @TempDir Path folder;

  private Scenario.Tenant tenant(String arrivals, String... changes) throws IOException {
    Path file = folder.resolve("arrivals.toml");
    Files.writeString(
        file, "duration = \"24h\"\nqueues.q.tenants.a = { arrivals = " + arrivals + " }\n");
    return ScenarioFile.read(file, List.of(changes)).queues().get(0).tenants().get(0);
  }

  private List<Long> times(String arrivals) throws IOException {
    ArrivalProcess.Times times = tenant(arrivals).arrivals().times(new SplittableRandom(1));
    List<Long> all = new ArrayList<>();
    for (long next = times.next(); next != ArrivalProcess.NEVER; next = times.next()) {
      all.add(next);
    }
    assertThat(all).isSorted().allMatch(each -> each >= 0 && each < 24 * HOUR);
    return all;
  }

  private static long between(List<Long> times, long from, long until) {
    return times.stream().filter(each -> each >= from * HOUR && each < until * HOUR).count();
  }

  @Test
  void steady_isEven() throws IOException {
    List<Long> times = times("{ pattern = 'steady', rate = 0.5 }");
    assertThat(times).hasSize(43_200);
    assertThat(times.get(0)).isLessThan(2 * SECOND);
    assertThat(times.get(40_000) - times.get(0)).isCloseTo(80_000 * SECOND, within(1L));
  }

  @Test
  void poisson_hasItsRate() throws IOException {
    assertThat(times("{ pattern = 'poisson', rate = '60/1m' }")).hasSizeBetween(85_400, 87_400);
  }

  @Test
  void bursts_arriveAtOneInstant() throws IOException {
    List<Long> times = times("{ pattern = 'bursts', size = 3, every = '10h', from = '1h' }");
    assertThat(times)
        .containsExactly(
            HOUR, HOUR, HOUR, 11 * HOUR, 11 * HOUR, 11 * HOUR, 21 * HOUR, 21 * HOUR, 21 * HOUR);
  }

  @Test
  void onOff_isSilentWhileItIsOff() throws IOException {
    List<Long> times = times("{ pattern = 'on_off', rate = 1, on = '1h', off = '2h' }");
    assertThat(times).hasSizeBetween(28_000, 29_600);
    assertThat(times).allMatch(each -> each % (3 * HOUR) <= HOUR);
  }

  @Test
  void ramp_changesFromOneRateToTheOther() throws IOException {
    List<Long> times = times("{ pattern = 'ramp', rate = 0, to = 2, from = '2h', until = '12h' }");
    assertThat(between(times, 2, 12)).isEqualTo(times.size()).isBetween(35_000L, 37_000L);
    assertThat((double) between(times, 7, 12) / times.size()).isCloseTo(0.75, within(0.02));
  }

  @Test
  void daily_isHighestAtItsPeak() throws IOException {
    List<Long> times = times("{ pattern = 'daily', low = 0.1, high = 2, peak = '18:00' }");
    assertThat(between(times, 17, 19)).isBetween(13_700L, 14_700L);
    assertThat(between(times, 5, 7)).isBetween(700L, 1_000L);
  }

  @Test
  void trace_hasTheListedTimes() throws IOException {
    assertThat(times("{ pattern = 'trace', at = ['2s', '1s', '1s'] }"))
        .containsExactly(SECOND, SECOND, 2 * SECOND);
    Files.writeString(folder.resolve("trace.txt"), "# seen\n1s\n\n1.5s # again\n");
    assertThat(times("{ pattern = 'trace', file = 'trace.txt', from = '1h' }"))
        .containsExactly(HOUR + SECOND, HOUR + 3 * SECOND / 2);
  }

  @Test
  void distributions_haveTheirMeansAndPercentiles() throws IOException {
    double[] fixed = draws("'2s'");
    assertThat(fixed).containsOnly(2 * SECOND);
    double[] exponential = draws("{ distribution = 'exponential', mean = '2s', max = '9s' }");
    assertThat(DoubleStream.of(exponential).average().orElseThrow() / SECOND)
        .isCloseTo(2, within(0.1));
    assertThat(DoubleStream.of(exponential).max().orElseThrow()).isEqualTo(9.0 * SECOND);
    double[] logNormal = draws("{ distribution = 'lognormal', median = '1s', p99 = '8s' }");
    assertThat(below(logNormal, SECOND)).isCloseTo(0.5, within(0.02));
    assertThat(below(logNormal, 8 * SECOND)).isCloseTo(0.99, within(0.005));
    double[] uniform = draws("{ distribution = 'uniform', min = '1s', max = '3s' }");
    assertThat(below(uniform, SECOND)).isZero();
    assertThat(below(uniform, 2 * SECOND)).isCloseTo(0.5, within(0.02));
    assertThat(below(uniform, 3 * SECOND)).isEqualTo(1);
  }

  private double[] draws(String service) throws IOException {
    Distribution distribution =
        tenant("{ pattern = 'steady', rate = 1 }", "queues.q.service=" + service).service();
    SplittableRandom random = new SplittableRandom(1);
    return DoubleStream.generate(() -> distribution.draw(random)).limit(10_000).toArray();
  }

  private static double below(double[] values, double limit) {
    return (double) DoubleStream.of(values).filter(each -> each < limit).count() / values.length;
  }
}
