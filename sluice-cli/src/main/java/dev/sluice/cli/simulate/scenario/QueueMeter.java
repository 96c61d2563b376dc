package dev.sluice.cli.simulate.scenario;

import java.util.List;

/** A queue, its tenants and its workers. */
public final class QueueMeter {
  final Scenario.ScenarioQueue queue;
  public final List<TrafficMeter> tenants;
  final UtilizationMeter workers;

  QueueMeter(Scenario.ScenarioQueue queue, Scenario scenario) {
    this.queue = queue;
    this.tenants =
        queue.tenants().stream()
            .map(tenant -> new TrafficMeter(tenant.name(), scenario.steps()))
            .toList();
    this.workers = new UtilizationMeter(scenario.steps(), scenario.stepNanos());
  }

  void endStep(int index, long now) {
    tenants.forEach(each -> each.endStep(index));
    workers.endStep(index, now);
  }

  public long served() {
    return tenants.stream().mapToLong(each -> each.fair.served()).sum();
  }

  /** Returns the fair part of the served cost of each tenant, by its weight and its demand. */
  public double[] dueShares() {
    int n = tenants.size();
    double[] weights = new double[n];
    double[] demands = new double[n];
    for (int i = 0; i < n; i++) {
      Scenario.Tenant tenant = queue.tenants().get(i);
      weights[i] = (double) tenant.weight() * tenant.count();
      demands[i] = tenants.get(i).count();
    }
    return MaxMinFairShare.of((double) served(), weights, demands);
  }
}
