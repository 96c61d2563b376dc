package dev.sluice.cli.simulate.scenario;

/**
 * Measures the arrivals of a tenant, a class or a caller, and their waits with Sluice and in the
 * FIFO.
 */
public final class TrafficMeter {
  public final String name;
  public final TrafficResult fair;
  public final TrafficResult fifo;
  private final double[] arrivedByStep;
  private long arrivedBefore;
  private long arrived;

  TrafficMeter(String name, int steps) {
    this.name = name;
    this.fair = new TrafficResult(steps);
    this.fifo = new TrafficResult(steps);
    this.arrivedByStep = new double[steps];
  }

  void arrived() {
    arrived++;
  }

  void endStep(int index) {
    arrivedByStep[index] = arrived - arrivedBefore;
    arrivedBefore = arrived;
    fair.endStep(index);
    fifo.endStep(index);
  }

  public long count() {
    return arrived;
  }

  public double[] arrivedByStep() {
    return arrivedByStep;
  }

  TrafficResult passage(boolean byFifo) {
    return byFifo ? fifo : fair;
  }
}
