package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;

/** The tokens of a model that were charged in the end. */
public final class ModelUsageMeter {
  final String name;
  final ModelBudget budget;
  private final double[] tokensByStep;
  private GovernorStatus.Audit audit = GovernorStatus.Audit.NONE;

  ModelUsageMeter(String name, ModelBudget budget, int steps) {
    this.name = name;
    this.budget = budget;
    this.tokensByStep = new double[steps];
  }

  /** Negative if more of earlier grants was refunded than charged in that step. */
  void charge(long tokens, int step) {
    tokensByStep[Math.min(step, tokensByStep.length - 1)] += tokens;
  }

  void audited(GovernorStatus.Audit report) {
    audit = report;
  }

  double[] tokensByStep() {
    return tokensByStep;
  }

  public double total() {
    double sum = 0;
    for (double each : tokensByStep) {
      sum += each;
    }
    return sum;
  }

  /** Returns charged by accrued tokens of a time. */
  public double used(long nanos) {
    return total() / (budget.tokens().refillTokens() * ((double) nanos / (60 * Durations.SECOND)));
  }

  /** Returns the governor's audit. */
  public GovernorStatus.Audit audit() {
    return audit;
  }
}
