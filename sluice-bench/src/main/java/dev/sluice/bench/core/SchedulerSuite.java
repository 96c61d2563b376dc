package dev.sluice.bench.core;

import dev.sluice.bench.measure.HeapProbe;
import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import java.io.IOException;
import java.util.Map;
import org.openjdk.jmh.runner.RunnerException;

/**
 * The fair scheduler: items a second by the number of keys, with throttles, beside parked keys, and
 * the cost of asking while all keys wait. An item is delivered and another of its key enqueued.
 */
public final class SchedulerSuite {
  private static final Map<Integer, String> SIZES =
      Map.of(10, "10", 1_000, "1k", 100_000, "100k", 1_000_000, "1m");

  private SchedulerSuite() {}

  public static Report run(boolean quick)
      throws RunnerException, IOException, InterruptedException {
    Rounds rounds = quick ? Rounds.quick(4, 120) : Rounds.full();
    rounds.run(SchedulerSuite::measure);
    Report report = new Report();
    for (int keys : new int[] {10, 1_000, 100_000, 1_000_000}) {
      perSecond(report, rounds, SIZES.get(keys));
    }
    perSecond(report, rounds, "throttled");
    perSecond(report, rounds, "parked");
    rounds.value(report, "parked_poll_ns");
    rounds.value(report, "parked_poll_1k_ns");
    double bytes = HeapProbe.measure(SchedulerBytes.class, "0");
    Rounds.value(report, "bytes_per_key", bytes);
    Rounds.value(report, "throttled_bytes_per_key", HeapProbe.measure(SchedulerBytes.class, "2"));
    rounds.ratio(report, "scale_1m", "1m_ns", "10_ns");
    rounds.ratio(report, "parked_poll_scale", "parked_poll_ns", "parked_poll_1k_ns");
    return report;
  }

  private static void measure(Rounds rounds) throws RunnerException {
    for (int keys : new int[] {10, 1_000, 100_000, 1_000_000}) {
      rounds.record(
          SIZES.get(keys) + "_ns",
          rounds.options(SchedulerBenchmark.class, "deliver").param("keys", "" + keys));
    }
    rounds.record(
        "throttled_ns",
        rounds
            .options(SchedulerBenchmark.class, "deliver")
            .param("keys", "1000")
            .param("throttles", "2"));
    rounds.record(
        "parked_ns",
        rounds
            .options(SchedulerBenchmark.class, "deliver")
            .param("keys", "10")
            .param("parked", "100000"));
    rounds.record("parked_poll_ns", rounds.options(SchedulerBenchmark.class, "poll"));
    rounds.record(
        "parked_poll_1k_ns",
        rounds.options(SchedulerBenchmark.class, "poll").param("parked", "1000"));
  }

  private static void perSecond(Report report, Rounds rounds, String name) {
    Rounds.value(report, "per_s_" + name, 1e9 / rounds.median(name + "_ns"));
  }
}
