package dev.sluice.bench.core;

import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * The bucket against its rivals: grant and deny, one thread and two.
 *
 * <p>The machine may be noisy, so the whole field is measured in several rounds and every figure is
 * a median over them; a ratio is the median of the ratios within a round.
 */
public final class BucketSuite {

  /** How long and how often to measure. */
  private record Effort(int rounds, int warmups, int iterations, TimeValue time) {
    static final Effort QUICK = new Effort(1, 2, 2, TimeValue.milliseconds(150));
    static final Effort FULL = new Effort(5, 3, 4, TimeValue.milliseconds(400));
  }

  private record Case(LimiterKind kind, boolean granting, int threads) {
    String label() {
      return kind.label() + (granting ? "" : "_deny") + (threads == 1 ? "" : "_2t");
    }
  }

  private record Measured(double nanos, double bytes) {}

  private final Effort effort;
  private final Map<String, List<Measured>> rounds = new LinkedHashMap<>();

  private BucketSuite(Effort effort) {
    this.effort = effort;
  }

  public static Report run(boolean quick) throws RunnerException, InterruptedException {
    BucketSuite suite = new BucketSuite(quick ? Effort.QUICK : Effort.FULL);
    for (int round = 1; round <= suite.effort.rounds; round++) {
      System.err.printf("round %d of %d%n", round, suite.effort.rounds);
      for (Case each : cases(quick)) {
        suite.measure(each);
      }
      suite.measureNeighbours();
    }
    Report report = suite.report();
    JoinStorm.addTo(report);
    return report;
  }

  /** All of them; quickly, without those in which two threads are denied. */
  private static List<Case> cases(boolean quick) {
    List<Case> cases = new ArrayList<>();
    for (int threads = 1; threads <= 2; threads++) {
      for (boolean granting : new boolean[] {true, false}) {
        for (LimiterKind kind : LimiterKind.values()) {
          boolean pointless = !granting && kind == LimiterKind.NANOTIME;
          boolean tooLong = quick && !granting && threads == 2;
          if (!pointless && !tooLong) {
            cases.add(new Case(kind, granting, threads));
          }
        }
      }
    }
    return cases;
  }

  private void measure(Case each) throws RunnerException {
    Options options =
        options("tryAcquire", each.threads)
            .param("kind", each.kind.name())
            .param("granting", String.valueOf(each.granting))
            .build();
    record(each.label(), options);
  }

  private void measureNeighbours() throws RunnerException {
    record("two_buckets_2t", options("twoBuckets", 2).build());
  }

  private org.openjdk.jmh.runner.options.ChainedOptionsBuilder options(String method, int threads) {
    return new OptionsBuilder()
        .include(BucketBenchmark.class.getName() + "." + method + "$")
        .forks(1)
        .threads(threads)
        .warmupIterations(effort.warmups)
        .warmupTime(effort.time)
        .measurementIterations(effort.iterations)
        .measurementTime(effort.time)
        .addProfiler(GCProfiler.class)
        .shouldFailOnError(true)
        .verbosity(VerboseMode.SILENT);
  }

  private void record(String label, Options options) throws RunnerException {
    RunResult result = new Runner(options).runSingle();
    double bytes = result.getSecondaryResults().get("gc.alloc.rate.norm").getScore();
    double nanos = result.getPrimaryResult().getScore();
    System.err.printf("  %-24s %8.1f ns %8.1f B%n", label, nanos, bytes);
    rounds.computeIfAbsent(label, unused -> new ArrayList<>()).add(new Measured(nanos, bytes));
  }

  private Report report() {
    Report report = new Report();
    report.line("%-24s %10s %10s", "one permit", "ns", "bytes");
    rounds.forEach(
        (label, measured) -> {
          report.line(
              "%-24s %10.1f %10.1f", label, nanos(label), median(measured, Measured::bytes));
          report.value(label + "_ns", nanos(label));
        });
    report.value("alloc_b_op", ourBytes());
    addRatios(report);
    return report;
  }

  private void addRatios(Report report) {
    report.line("");
    ratio(report, "over_clock", "sluice", "nanotime");
    ratio(report, "over_clock_deny", "sluice_deny", "nanotime");
    ratio(report, "coarse_over_clock", "sluice_coarse", "nanotime");
    ratio(report, "given_now_over_clock", "sluice_given_now", "nanotime");
    ratio(report, "two_buckets_over_one", "two_buckets_2t", "sluice");
    for (String variant : List.of("", "_2t", "_deny", "_deny_2t")) {
      for (String rival : List.of("bucket4j", "guava", "resilience4j", "failsafe")) {
        ratio(report, "vs_" + rival + variant, rival + variant, "sluice" + variant);
      }
    }
  }

  private void ratio(Report report, String name, String dividend, String divisor) {
    List<Measured> above = rounds.get(dividend);
    List<Measured> below = rounds.get(divisor);
    if (above == null || below == null) {
      return;
    }
    double[] ratios = new double[above.size()];
    Arrays.setAll(ratios, i -> above.get(i).nanos / below.get(i).nanos);
    report.line("%-24s %10.2f   (%s / %s)", name, Rounds.median(ratios), dividend, divisor);
    report.ratio(name, Rounds.median(ratios));
  }

  private double nanos(String label) {
    return median(rounds.get(label), Measured::nanos);
  }

  /** The most that any of our paths allocates; below what the profiler can tell from zero, zero. */
  private double ourBytes() {
    double most =
        rounds.entrySet().stream()
            .filter(e -> e.getKey().startsWith("sluice") || e.getKey().startsWith("two_buckets"))
            .mapToDouble(e -> median(e.getValue(), Measured::bytes))
            .max()
            .orElseThrow();
    return most < 0.01 ? 0 : most;
  }

  private static double median(List<Measured> measured, ToDoubleFunction<Measured> figure) {
    return Rounds.median(measured.stream().mapToDouble(figure).toArray());
  }
}
