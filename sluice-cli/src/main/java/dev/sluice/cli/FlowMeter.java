package dev.sluice.cli;

/** Those of a tenant, a class or a caller: how many came, and what became of them both ways. */
final class FlowMeter {
  final String name;
  final Passage fair;
  final Passage fifo;
  private final double[] arrivedByStep;
  private long arrivedBefore;
  private long arrived;

  FlowMeter(String name, int steps) {
    this.name = name;
    this.fair = new Passage(steps);
    this.fifo = new Passage(steps);
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

  long count() {
    return arrived;
  }

  double[] arrivedByStep() {
    return arrivedByStep;
  }

  Passage passage(boolean byFifo) {
    return byFifo ? fifo : fair;
  }
}
