package dev.sluice.cli;

import java.util.List;

/** A queue, its tenants and its workers. */
final class QueueMeter {
  final Scenario.Queue queue;
  final List<FlowMeter> tenants;
  final BusyMeter workers;

  QueueMeter(Scenario.Queue queue, Scenario scenario) {
    this.queue = queue;
    this.tenants =
        queue.tenants().stream()
            .map(tenant -> new FlowMeter(tenant.name(), scenario.steps()))
            .toList();
    this.workers = new BusyMeter(scenario.steps(), scenario.stepNanos());
  }

  void endStep(int index, long now) {
    tenants.forEach(each -> each.endStep(index));
    workers.endStep(index, now);
  }

  long served() {
    return tenants.stream().mapToLong(each -> each.fair.served()).sum();
  }

  /** What part of all that was served each tenant would have by its weight and its demand. */
  double[] dueShares() {
    int n = tenants.size();
    double[] weights = new double[n];
    double[] demands = new double[n];
    for (int i = 0; i < n; i++) {
      Scenario.Tenant tenant = queue.tenants().get(i);
      weights[i] = (double) tenant.weight() * tenant.count();
      demands[i] = tenants.get(i).count();
    }
    return FairShares.of((double) served(), weights, demands);
  }
}
