package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/**
 * Lines over time.
 *
 * @param scale plots of waits with the same scale have the same height; empty for any other plot
 */
record ScenarioPlot(String title, String unit, String scale, List<ScenarioPlot.Series> lines) {
  /** The most lines of a plot; more could not be distinguished. */
  static final int MOST_LINES = 8;

  private static final double PERCENT = 100;

  /** A line with a value for each step; dashed if it is a reference. */
  static final class Series {
    final String name;
    final double[] values;
    final boolean dashed;

    Series(String name, double[] values, boolean dashed) {
      this.name = name;
      this.values = values;
      this.dashed = dashed;
    }
  }

  boolean isWait() {
    return !scale.isEmpty();
  }

  /** Returns the tenants with the most arrivals, in the order of the file. */
  static List<TrafficMeter> largest(List<TrafficMeter> flows) {
    List<TrafficMeter> most =
        flows.stream()
            .sorted(Comparator.comparingLong(TrafficMeter::count).reversed())
            .limit(MOST_LINES)
            .toList();
    return flows.stream().filter(most::contains).toList();
  }

  private static List<ScenarioPlot.Series> lines(
      List<TrafficMeter> flows, Function<TrafficMeter, double[]> values) {
    return largest(flows).stream()
        .map(each -> new ScenarioPlot.Series(each.name, values.apply(each), false))
        .toList();
  }

  static ScenarioPlot waits(String scale, List<TrafficMeter> flows) {
    return new ScenarioPlot(
        "Wait with Sluice, p99", "seconds", scale, lines(flows, each -> each.fair.p99ByStep()));
  }

  static ScenarioPlot fifoWaits(String scale, List<TrafficMeter> flows) {
    return new ScenarioPlot(
        "Wait with one FIFO, p99", "seconds", scale, lines(flows, each -> each.fifo.p99ByStep()));
  }

  static ScenarioPlot waiting(List<TrafficMeter> flows) {
    return new ScenarioPlot(
        "Waiting with Sluice", "waiting", "", lines(flows, each -> each.fair.waitingByStep()));
  }

  static ScenarioPlot arrivals(List<TrafficMeter> flows, long stepNanos) {
    return new ScenarioPlot(
        "Arrivals",
        "a second",
        "",
        lines(flows, each -> scaled(each.arrivedByStep(), (double) Durations.SECOND / stepNanos)));
  }

  static ScenarioPlot shares(QueueMeter queue) {
    int steps = queue.tenants.get(0).fair.servedByStep().length;
    double[] all = new double[steps];
    for (TrafficMeter each : queue.tenants) {
      double[] served = each.fair.servedByStep();
      for (int i = 0; i < steps; i++) {
        all[i] += served[i];
      }
    }
    return new ScenarioPlot(
        "Share of service",
        "%",
        "",
        lines(
            queue.tenants,
            each -> {
              double[] served = each.fair.servedByStep();
              double[] shares = new double[steps];
              for (int i = 0; i < steps; i++) {
                shares[i] = all[i] == 0 ? Double.NaN : PERCENT * served[i] / all[i];
              }
              return shares;
            }));
  }

  /** Plots the utilization of limits, and of workers where their number is bounded. */
  static ScenarioPlot utilization(ScenarioResult result) {
    long step = result.scenario().stepNanos();
    List<ScenarioPlot.Series> lines = new ArrayList<>();
    for (LimitMeter each : result.throttles()) {
      double[] taken = each.takenByStep();
      double[] used = new double[taken.length];
      for (int i = 0; i < taken.length; i++) {
        used[i] = PERCENT * each.used(taken[i], step);
      }
      lines.add(new ScenarioPlot.Series(each.throttle.key(), used, false));
    }
    for (QueueMeter each : result.queues()) {
      if (each.queue.workers() > 0) {
        lines.add(
            new ScenarioPlot.Series(
                "workers of " + each.queue.name(),
                scaled(each.workers.meanByStep(), PERCENT / each.queue.workers()),
                false));
      }
    }
    List<ScenarioPlot.Series> first = lines.subList(0, Math.min(MOST_LINES, lines.size()));
    return new ScenarioPlot("Utilization of limits and workers", "%", "", List.copyOf(first));
  }

  static ScenarioPlot tokens(ModelUsageMeter model, long stepNanos) {
    double[] perMinute = scaled(model.tokensByStep(), 60.0 * Durations.SECOND / stepNanos);
    double[] target = new double[perMinute.length];
    Arrays.fill(target, (double) model.budget.tokens().refillTokens());
    return new ScenarioPlot(
        "Tokens of " + model.name,
        "a minute",
        "",
        List.of(
            new ScenarioPlot.Series("charged", perMinute, false),
            new ScenarioPlot.Series("target", target, true)));
  }

  private static double[] scaled(double[] values, double by) {
    double[] scaled = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      scaled[i] = values[i] * by;
    }
    return scaled;
  }
}
