package dev.sluice.bench.governor;

import dev.sluice.bench.measure.Report;
import dev.sluice.bench.measure.Rounds;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;

/**
 * The governor in memory: decisions a second under ten times the load that it admits, with one
 * model and with fifty; and at a virtual time how much of the limit it uses, whether it ever goes
 * beyond, and how long classes wait.
 */
public final class GovernorSuite {
  private static final double OVERLOAD = 10;
  private static final double SHARE = 0.1;

  /** Until the code is compiled and the load is ten times what is allowed, which takes a while. */
  private static final int WARMUPS = 25;

  private GovernorSuite() {}

  public static Report run(boolean quick) throws RunnerException {
    Rounds rounds = quick ? Rounds.quick(8, 200) : Rounds.full();
    rounds.run(GovernorSuite::measure);
    Report report = new Report();
    report.line("decisions a second; a decision is a request that is answered");
    perSecond(report, rounds, "memory", 1);
    perSecond(report, rounds, "memory_2t", 2);
    perSecond(report, rounds, "memory_fifty", 1);
    perSecond(report, rounds, "memory_fifty_2t", 2);
    perSecond(report, rounds, "granted", 1);
    perSecond(report, rounds, "bucket4j", 1);
    perSecond(report, rounds, "guava", 1);
    atVirtualTime(report, quick ? 60 : 600);
    rounds.ratio(report, "vs_bucket4j", "bucket4j_ns", "memory_ns");
    rounds.ratio(report, "vs_guava", "guava_ns", "memory_ns");
    rounds.ratio(report, "fifty_cost", "memory_fifty_ns", "memory_ns");
    return report;
  }

  private static void measure(Rounds rounds) throws RunnerException {
    rounds.record("memory_ns", options(rounds, 1).warmupIterations(WARMUPS));
    rounds.record("memory_2t_ns", options(rounds, 1).threads(2));
    rounds.record("memory_fifty_ns", options(rounds, 50).warmupIterations(WARMUPS));
    rounds.record("memory_fifty_2t_ns", options(rounds, 50).threads(2));
    rounds.record("granted_ns", options(rounds, 1).param("overload", "1"));
    long allowed = (long) (1e9 / rounds.last("memory_ns") / OVERLOAD);
    for (String rival : new String[] {"bucket4j", "guava"}) {
      rounds.record(
          rival + "_ns",
          rounds.options(GovernorBenchmark.class, rival).param("allowed", "" + allowed));
    }
  }

  private static ChainedOptionsBuilder options(Rounds rounds, int models) {
    return rounds.options(GovernorBenchmark.class, "decide").param("models", "" + models);
  }

  private static void perSecond(Report report, Rounds rounds, String name, int threads) {
    Rounds.value(report, name + "_per_s", threads * 1e9 / rounds.median(name + "_ns"));
  }

  private static void atVirtualTime(Report report, long minutes) {
    report.line("");
    report.line("%d minutes of virtual time, ten times the load", minutes);
    GovernorDay plain = new GovernorDay(1, 0).run(minutes);
    GovernorDay shared = new GovernorDay(1, SHARE).run(minutes);
    report.line("%-32s %14d", "granted", plain.granted());
    report.line("%-32s %14d", "refused, the line was full", plain.refused());
    exact(report, "utilization", Math.min(plain.utilization(), shared.utilization()));
    exact(
        report, "over_admission", (double) Math.max(plain.overAdmission(), shared.overAdmission()));
    exact(report, "p0_wait_p99_ms", 1_000 * plain.waitSeconds("P0_clinical", 0.99));
    exact(report, "p0_wait_shared_p99_ms", 1_000 * shared.waitSeconds("P0_clinical", 0.99));
    exact(report, "p2_wait_max_s", shared.waitSeconds("P2_batch", 1));
    report.line("");
    Rounds.ratio(report, "p0_wait_over_bound", plain.urgentOverBound());
    Rounds.ratio(report, "p2_wait_over_bound", shared.lastOverBound());
  }

  private static void exact(Report report, String name, double value) {
    report.line("%-32s %14.3f", name, value);
    report.value(name, value);
  }
}
