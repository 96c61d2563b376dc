package dev.sluice.bench.measure;

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
 * Average times of several cases, measured round by round: a figure is the median over the rounds,
 * a ratio the median of the ratios within a round.
 */
public final class Rounds {
  private final int rounds;
  private final int warmups;
  private final int iterations;
  private final TimeValue time;
  private final Map<String, List<Double>> figures = new LinkedHashMap<>();

  private Rounds(int rounds, int warmups, int iterations, TimeValue time) {
    this.rounds = rounds;
    this.warmups = warmups;
    this.iterations = iterations;
    this.time = time;
  }

  /** One short round, with so many iterations, of so many milliseconds each, to warm up. */
  public static Rounds quick(int warmups, int millis) {
    return new Rounds(1, warmups, 3, TimeValue.milliseconds(millis));
  }

  public static Rounds full() {
    return new Rounds(5, 4, 4, TimeValue.milliseconds(400));
  }

  /** So many rounds of cases that are not JMH's. */
  public static Rounds of(int rounds) {
    return new Rounds(rounds, 0, 0, TimeValue.NONE);
  }

  /** Measures all cases of one round. */
  @FunctionalInterface
  public interface Cases<E extends Exception> {
    void measure(Rounds rounds) throws E;
  }

  public <E extends Exception> void run(Cases<E> cases) throws E {
    for (int round = 1; round <= rounds; round++) {
      System.err.printf("round %d of %d%n", round, rounds);
      cases.measure(this);
    }
  }

  public ChainedOptionsBuilder options(Class<?> benchmark, String method) {
    return new OptionsBuilder()
        .include(benchmark.getName() + "." + method + "$")
        .forks(1)
        .threads(1)
        .jvmArgsAppend("-Xms2g", "-Xmx2g")
        .warmupIterations(warmups)
        .warmupTime(time)
        .measurementIterations(iterations)
        .measurementTime(time)
        .shouldFailOnError(true)
        .verbosity(VerboseMode.SILENT);
  }

  public void record(String name, ChainedOptionsBuilder options) throws RunnerException {
    record(name, new Runner(options.build()).runSingle().getPrimaryResult().getScore());
  }

  public void record(String name, double figure) {
    System.err.printf(Locale.ROOT, "  %-32s %10.1f%n", name, figure);
    figures.computeIfAbsent(name, unused -> new ArrayList<>()).add(figure);
  }

  /** The figure of this round. */
  public double last(String name) {
    List<Double> each = figures.get(name);
    return each.get(each.size() - 1);
  }

  public double median(String name) {
    List<Double> each = figures.get(name);
    return median(each.stream().mapToDouble(Double::doubleValue).toArray());
  }

  /** Reports the figure that was recorded under this name. */
  public void value(Report report, String name) {
    value(report, name, median(name));
  }

  public static void value(Report report, String name, double value) {
    report.line("%-32s %14.1f", name, value);
    report.value(name, value);
  }

  public void ratio(Report report, String name, String dividend, String divisor) {
    ratio(report, name, perRound(dividend, divisor, (a, b) -> a / b));
  }

  public static void ratio(Report report, String name, double... ratios) {
    double ratio = median(ratios);
    report.line("%-32s %14.2f", name, ratio);
    report.ratio(name, ratio);
  }

  public double[] perRound(String name, String other, DoubleBinaryOperator operator) {
    List<Double> first = figures.get(name);
    List<Double> second = figures.get(other);
    double[] results = new double[first.size()];
    Arrays.setAll(results, i -> operator.applyAsDouble(first.get(i), second.get(i)));
    return results;
  }

  public static double median(double[] figures) {
    Arrays.sort(figures);
    int middle = figures.length / 2;
    return figures.length % 2 == 1 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
  }
}
