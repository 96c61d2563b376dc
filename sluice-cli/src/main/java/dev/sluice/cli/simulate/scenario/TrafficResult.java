package dev.sluice.cli.simulate.scenario;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * The traffic of one discipline, Sluice or FIFO: results of all arrivals, in total and by step. Its
 * size does not depend on their number.
 */
public final class TrafficResult {
  private static final long MICRO_NANOS = 1_000;
  private static final int DIGITS = 3;

  /** The precision of a step, of which only one percentile is shown. */
  private static final int STEP_DIGITS = 2;

  private final Histogram all = new Histogram(DIGITS);
  private final Histogram step = new Histogram(STEP_DIGITS);
  private final long[] servedByStep;
  private final long[] waitingByStep;
  private final double[] p99ByStep;
  private final Map<String, Long> refusals = new TreeMap<>();
  private long servedBefore;
  private long served;
  private long waiting;
  private long left;

  TrafficResult(int steps) {
    servedByStep = new long[steps];
    waitingByStep = new long[steps];
    p99ByStep = new double[steps];
    Arrays.fill(p99ByStep, Double.NaN);
  }

  /** Counts an arrival that waits from now on. */
  void entered() {
    waiting++;
  }

  void served(long waitedNanos) {
    waiting--;
    served++;
    record(waitedNanos);
  }

  /** Counts an arrival that was denied after it had waited. */
  void refused(String reason) {
    waiting--;
    refusals.merge(reason, 1L, Long::sum);
  }

  /** Counts an arrival that still waits at the end, with its wait so far. */
  void leftWaiting(long waitedNanos) {
    waiting--;
    left++;
    all.recordValue(waitedNanos / MICRO_NANOS);
  }

  private void record(long waitedNanos) {
    all.recordValue(waitedNanos / MICRO_NANOS);
    step.recordValue(waitedNanos / MICRO_NANOS);
  }

  void endStep(int index) {
    servedByStep[index] = served - servedBefore;
    servedBefore = served;
    waitingByStep[index] = waiting;
    if (step.getTotalCount() > 0) {
      p99ByStep[index] = seconds(step.getValueAtPercentile(99));
      step.reset();
    }
  }

  public long served() {
    return served;
  }

  public long waiting() {
    return waiting;
  }

  public long left() {
    return left;
  }

  public long refused() {
    return refusals.values().stream().mapToLong(Long::longValue).sum();
  }

  public Map<String, Long> refusals() {
    return refusals;
  }

  /** Returns NaN without arrivals. */
  public double waitSeconds(double percentile) {
    return all.getTotalCount() == 0 ? Double.NaN : seconds(all.getValueAtPercentile(percentile));
  }

  private static double seconds(long micros) {
    return micros / 1e6;
  }

  double[] servedByStep() {
    return Arrays.stream(servedByStep).asDoubleStream().toArray();
  }

  double[] waitingByStep() {
    return Arrays.stream(waitingByStep).asDoubleStream().toArray();
  }

  double[] p99ByStep() {
    return p99ByStep;
  }
}
