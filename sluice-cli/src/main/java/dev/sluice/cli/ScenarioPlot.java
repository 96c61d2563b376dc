package dev.sluice.cli;

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
record ScenarioPlot(String title, String unit, String scale, List<Line> lines) {
  /** More would not be told apart. */
  static final int MOST_LINES = 8;

  private static final double PERCENT = 100;

  /** One line, with a value for each step; dashed if it is there to compare with. */
  static final class Line {
    final String name;
    final double[] values;
    final boolean dashed;

    Line(String name, double[] values, boolean dashed) {
      this.name = name;
      this.values = values;
      this.dashed = dashed;
    }
  }

  boolean isWait() {
    return !scale.isEmpty();
  }

  /** Of those of whom most came, in the order of the file. */
  static List<FlowMeter> largest(List<FlowMeter> flows) {
    List<FlowMeter> most =
        flows.stream()
            .sorted(Comparator.comparingLong(FlowMeter::count).reversed())
            .limit(MOST_LINES)
            .toList();
    return flows.stream().filter(most::contains).toList();
  }

  private static List<Line> lines(List<FlowMeter> flows, Function<FlowMeter, double[]> values) {
    return largest(flows).stream()
        .map(each -> new Line(each.name, values.apply(each), false))
        .toList();
  }

  static ScenarioPlot waits(String scale, List<FlowMeter> flows) {
    return new ScenarioPlot(
        "Wait with Sluice, p99", "seconds", scale, lines(flows, each -> each.fair.p99ByStep()));
  }

  static ScenarioPlot fifoWaits(String scale, List<FlowMeter> flows) {
    return new ScenarioPlot(
        "Wait with one FIFO, p99", "seconds", scale, lines(flows, each -> each.fifo.p99ByStep()));
  }

  static ScenarioPlot waiting(List<FlowMeter> flows) {
    return new ScenarioPlot(
        "In line with Sluice", "waiting", "", lines(flows, each -> each.fair.waitingByStep()));
  }

  static ScenarioPlot arrivals(List<FlowMeter> flows, long stepNanos) {
    return new ScenarioPlot(
        "Arrivals",
        "a second",
        "",
        lines(flows, each -> scaled(each.arrivedByStep(), (double) Durations.SECOND / stepNanos)));
  }

  static ScenarioPlot shares(QueueMeter queue) {
    int steps = queue.tenants.get(0).fair.servedByStep().length;
    double[] all = new double[steps];
    for (FlowMeter each : queue.tenants) {
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

  /** Of throttles, and of the workers where they have a number. */
  static ScenarioPlot utilisation(ScenarioResult result) {
    long step = result.scenario().stepNanos();
    List<Line> lines = new ArrayList<>();
    for (ThrottleMeter each : result.throttles()) {
      double[] taken = each.takenByStep();
      double[] used = new double[taken.length];
      for (int i = 0; i < taken.length; i++) {
        used[i] = PERCENT * each.used(taken[i], step);
      }
      lines.add(new Line(each.throttle.key(), used, false));
    }
    for (QueueMeter each : result.queues()) {
      if (each.queue.workers() > 0) {
        lines.add(
            new Line(
                "workers of " + each.queue.name(),
                scaled(each.workers.meanByStep(), PERCENT / each.queue.workers()),
                false));
      }
    }
    List<Line> first = lines.subList(0, Math.min(MOST_LINES, lines.size()));
    return new ScenarioPlot("Utilisation of limits and workers", "%", "", List.copyOf(first));
  }

  static ScenarioPlot tokens(ModelMeter model, long stepNanos) {
    double[] perMinute = scaled(model.tokensByStep(), 60.0 * Durations.SECOND / stepNanos);
    double[] target = new double[perMinute.length];
    Arrays.fill(target, (double) model.budget.targetTpm());
    return new ScenarioPlot(
        "Tokens of " + model.name,
        "a minute",
        "",
        List.of(new Line("charged", perMinute, false), new Line("target", target, true)));
  }

  private static double[] scaled(double[] values, double by) {
    double[] scaled = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      scaled[i] = values[i] * by;
    }
    return scaled;
  }
}
