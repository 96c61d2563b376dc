package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.AlertConfig;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenSettlement;
import java.time.Instant;
import java.util.List;

/** Watches one model. Thread-safe; never blocks for long. */
final class ModelMonitor {
  /** Guarded by this, all of them. */
  private final Auditor auditor;

  /**
   * The store's audit with the largest excess that it ever reported: a fleet's store may lose its
   * data.
   */
  private GovernorStatus.Audit ofStore = GovernorStatus.Audit.NONE;

  private final AlertMonitor health;
  private final RefillLog log;

  ModelMonitor(String model, ModelBudget budget, AlertConfig config, long now) {
    auditor = new Auditor(budget, now);
    health = new AlertMonitor(model, config, now);
    log = new RefillLog(model, budget.priorityClasses().keySet());
  }

  synchronized void reload(ModelBudget budget, AlertConfig config, long now) {
    auditor.reload(budget, now);
    health.reload(config, now);
    log.reload(budget.priorityClasses().keySet());
  }

  synchronized void asked(boolean rejected, long now) {
    health.asked(rejected, now);
  }

  synchronized void granted(String priority, long tokens, boolean fromLine, long now) {
    auditor.granted(tokens, now);
    if (fromLine) {
      log.servedFromLine(priority);
    }
  }

  synchronized void refunded(long tokens, long grantedAt, long now) {
    auditor.refunded(tokens, grantedAt, now);
  }

  /** A settlement reported more than it could be charged for. */
  synchronized void exceeded(TokenSettlement settled, long now) {
    auditor.exceeded(settled.excessTokens());
    health.exceeded(settled, now);
  }

  synchronized void refilled(long tokens, long available) {
    log.refilled(tokens, available);
  }

  synchronized List<AlertMonitor.Change> check(GovernorStatus.Model status, long now, Instant at) {
    hear(status, now);
    return health.check(status, now, at);
  }

  synchronized List<String> lines() {
    return log.lines();
  }

  /** Returns the status with the results of this monitor. */
  synchronized GovernorStatus.Model watched(GovernorStatus.Model status, long now) {
    hear(status, now);
    return status.with(auditor.report(now).orMore(ofStore), status.provider(), health.alerts());
  }

  private void hear(GovernorStatus.Model status, long now) {
    auditor.recordLimits(status.capacity(), status.targetTpm(), now);
    ofStore = ofStore.orMore(status.audit());
  }
}
