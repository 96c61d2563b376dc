package dev.sluice.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * The throttle: a decision over one key and over three, and the memory of a million keys, against
 * Bucket4j's buckets in a map and in its Caffeine store.
 *
 * <p>Times are medians over rounds, each with all cases; a ratio is the median of the ratios within
 * a round. Memory does not vary and is measured once.
 */
final class ThrottleSuite {

  /** How long and how often to measure. */
  private record Effort(int rounds, int warmups, int iterations, TimeValue time) {
    static final Effort QUICK = new Effort(1, 6, 3, TimeValue.milliseconds(150));
    static final Effort FULL = new Effort(5, 4, 4, TimeValue.milliseconds(400));
  }

  private static final int MANY_KEYS = 1_000_000;

  private final Effort effort;
  private final Map<String, List<Double>> rounds = new LinkedHashMap<>();

  private ThrottleSuite(Effort effort) {
    this.effort = effort;
  }

  static Report run(boolean quick) throws RunnerException, IOException, InterruptedException {
    ThrottleSuite suite = new ThrottleSuite(quick ? Effort.QUICK : Effort.FULL);
    for (int round = 1; round <= suite.effort.rounds; round++) {
      System.err.printf("round %d of %d%n", round, suite.effort.rounds);
      suite.measure();
    }
    Report report = new Report();
    suite.reportTimes(report);
    reportBytes(report);
    return report;
  }

  private void measure() throws RunnerException {
    record("nanotime_ns", options("nanotime"));
    record("one_key_ns", options("oneKey"));
    record("three_key_ns", options("threeKeys"));
    record("three_key_1m_ns", options("threeKeys").param("keys", String.valueOf(MANY_KEYS)));
    record("bucket4j_one_key_ns", options("oneKey").param("kind", KeyedKind.BUCKET4J.name()));
    record(
        "bucket4j_caffeine_one_key_ns",
        options("oneKey").param("kind", KeyedKind.BUCKET4J_CAFFEINE.name()));
  }

  private ChainedOptionsBuilder options(String method) {
    return new OptionsBuilder()
        .include(ThrottleBenchmark.class.getName() + "." + method + "$")
        .forks(1)
        .threads(1)
        .warmupIterations(effort.warmups)
        .warmupTime(effort.time)
        .measurementIterations(effort.iterations)
        .measurementTime(effort.time)
        .shouldFailOnError(true)
        .verbosity(VerboseMode.SILENT);
  }

  private void record(String name, ChainedOptionsBuilder options) throws RunnerException {
    double nanos = new Runner(options.build()).runSingle().getPrimaryResult().getScore();
    System.err.printf(Locale.ROOT, "  %-32s %10.1f%n", name, nanos);
    rounds.computeIfAbsent(name, unused -> new ArrayList<>()).add(nanos);
  }

  private void reportTimes(Report report) {
    rounds.forEach((name, figures) -> value(report, name, median(figures)));
    double[] overClock = perRound("three_key_ns", "nanotime_ns", (three, clock) -> three - clock);
    value(report, "three_key_over_clock_ns", BucketSuite.median(overClock));
    ratio(report, "vs_bucket4j", perRound("bucket4j_one_key_ns", "one_key_ns", (a, b) -> a / b));
    ratio(
        report,
        "vs_bucket4j_caffeine",
        perRound("bucket4j_caffeine_one_key_ns", "one_key_ns", (a, b) -> a / b));
  }

  private static void reportBytes(Report report) throws IOException, InterruptedException {
    double ours = bytes(report, "bytes_per_key", KeyedKind.SLUICE);
    bytes(report, "set_rate_bytes_per_key", KeyedKind.SLUICE_SET_RATE);
    double theirs = bytes(report, "bucket4j_bytes_per_key", KeyedKind.BUCKET4J);
    double stored = bytes(report, "bucket4j_caffeine_bytes_per_key", KeyedKind.BUCKET4J_CAFFEINE);
    ratio(report, "vs_bucket4j_bytes", theirs / ours);
    ratio(report, "vs_bucket4j_caffeine_bytes", stored / ours);
  }

  private static double bytes(Report report, String name, KeyedKind kind)
      throws IOException, InterruptedException {
    double bytes = KeyBytes.measure(kind);
    System.err.printf(Locale.ROOT, "  %-32s %10.1f%n", name, bytes);
    value(report, name, bytes);
    return bytes;
  }

  private static void value(Report report, String name, double value) {
    report.line("%-32s %10.1f", name, value);
    report.value(name, value);
  }

  private static void ratio(Report report, String name, double... figures) {
    double ratio = BucketSuite.median(figures);
    report.line("%-32s %10.2f", name, ratio);
    report.ratio(name, ratio);
  }

  private double[] perRound(String name, String other, DoubleBinaryOperator operator) {
    List<Double> figures = rounds.get(name);
    List<Double> others = rounds.get(other);
    double[] results = new double[figures.size()];
    Arrays.setAll(results, i -> operator.applyAsDouble(figures.get(i), others.get(i)));
    return results;
  }

  private static double median(List<Double> figures) {
    return BucketSuite.median(figures.stream().mapToDouble(Double::doubleValue).toArray());
  }
}
