package dev.sluice.cli.simulate.scenario;

/** Measures the number of busy workers over time. */
final class UtilizationMeter {
  private final double[] meanByStep;
  private final long stepNanos;
  private long busy;
  private long since;
  private double area;
  private double areaBefore;

  UtilizationMeter(int steps, long stepNanos) {
    this.meanByStep = new double[steps];
    this.stepNanos = stepNanos;
  }

  void change(int by, long now) {
    advance(now);
    busy += by;
  }

  private void advance(long now) {
    area += (double) busy * (now - since);
    since = now;
  }

  void endStep(int index, long now) {
    advance(now);
    meanByStep[index] = (area - areaBefore) / stepNanos;
    areaBefore = area;
  }

  double[] meanByStep() {
    return meanByStep;
  }

  double mean() {
    return since == 0 ? 0 : area / since;
  }
}
