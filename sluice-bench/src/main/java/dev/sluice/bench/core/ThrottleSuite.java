package dev.sluice.bench.core;

import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * The throttle: a decision over one key and over three, and the memory of a million keys, against
 * Bucket4j's buckets in a map and in its Caffeine store. Memory does not vary and is measured once.
 */
public final class ThrottleSuite {
  private static final int MANY_KEYS = 1_000_000;

  private static final List<String> TIMES =
      List.of(
          "nanotime_ns",
          "one_key_ns",
          "three_key_ns",
          "three_key_1m_ns",
          "bucket4j_one_key_ns",
          "bucket4j_caffeine_one_key_ns");

  private ThrottleSuite() {}

  public static Report run(boolean quick)
      throws RunnerException, IOException, InterruptedException {
    Rounds rounds = quick ? Rounds.quick(8, 300) : Rounds.full();
    rounds.run(ThrottleSuite::measure);
    Report report = new Report();
    reportTimes(report, rounds);
    reportBytes(report);
    return report;
  }

  private static void measure(Rounds rounds) throws RunnerException {
    rounds.record("nanotime_ns", options(rounds, "nanotime"));
    rounds.record("one_key_ns", options(rounds, "oneKey"));
    rounds.record("three_key_ns", options(rounds, "threeKeys"));
    rounds.record(
        "three_key_1m_ns", options(rounds, "threeKeys").param("keys", String.valueOf(MANY_KEYS)));
    rounds.record(
        "bucket4j_one_key_ns", options(rounds, "oneKey").param("kind", KeyedKind.BUCKET4J.name()));
    rounds.record(
        "bucket4j_caffeine_one_key_ns",
        options(rounds, "oneKey").param("kind", KeyedKind.BUCKET4J_CAFFEINE.name()));
  }

  private static ChainedOptionsBuilder options(Rounds rounds, String method) {
    return rounds.options(ThrottleBenchmark.class, method);
  }

  private static void reportTimes(Report report, Rounds rounds) {
    TIMES.forEach(name -> rounds.value(report, name));
    double[] overClock =
        rounds.perRound("three_key_ns", "nanotime_ns", (three, clock) -> three - clock);
    Rounds.value(report, "three_key_over_clock_ns", Rounds.median(overClock));
    rounds.ratio(report, "vs_bucket4j", "bucket4j_one_key_ns", "one_key_ns");
    rounds.ratio(report, "vs_bucket4j_caffeine", "bucket4j_caffeine_one_key_ns", "one_key_ns");
  }

  private static void reportBytes(Report report) throws IOException, InterruptedException {
    double ours = bytes(report, "bytes_per_key", KeyedKind.SLUICE);
    bytes(report, "set_rate_bytes_per_key", KeyedKind.SLUICE_SET_RATE);
    double theirs = bytes(report, "bucket4j_bytes_per_key", KeyedKind.BUCKET4J);
    double stored = bytes(report, "bucket4j_caffeine_bytes_per_key", KeyedKind.BUCKET4J_CAFFEINE);
    Rounds.ratio(report, "vs_bucket4j_bytes", theirs / ours);
    Rounds.ratio(report, "vs_bucket4j_caffeine_bytes", stored / ours);
  }

  private static double bytes(Report report, String name, KeyedKind kind)
      throws IOException, InterruptedException {
    double bytes = KeyBytes.measure(kind);
    System.err.printf(Locale.ROOT, "  %-32s %10.1f%n", name, bytes);
    Rounds.value(report, name, bytes);
    return bytes;
  }
}
