package dev.sluice.internal.scheduler;

import dev.sluice.internal.bucket.ConfinedTokenBucket;
import dev.sluice.internal.bucket.UnitScale;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fairness keys of one priority, and their turns. */
final class PriorityLevel {
  /*
   * A key that runs empty stays among the old until its next turn would come: coming back at once
   * does not make it fresh again.
   */
  final int priority;
  private final Map<String, KeyFlow> flows = new HashMap<>();
  final DeficitRoundRobin<KeyFlow> turns = new DeficitRoundRobin<>();

  /** The rate that this priority gets even when higher ones have work. */
  private @Nullable ConfinedTokenBucket minimumRate;

  PriorityLevel(int priority) {
    this.priority = priority;
  }

  @Nullable KeyFlow flow(String key) {
    return flows.get(key);
  }

  Collection<KeyFlow> flows() {
    return flows.values();
  }

  void add(KeyFlow flow) {
    flows.put(flow.key, flow);
  }

  void remove(KeyFlow flow) {
    flows.remove(flow.key);
  }

  /** Sets the minimum rate; returns true if there was none. */
  boolean setMinimumRate(UnitScale scale, SchedulerCore core) {
    if (minimumRate == null) {
      minimumRate = core.newBucket(scale);
      return true;
    }
    minimumRate.configure(scale, core.lastCharge(), core.now());
    return false;
  }

  void removeMinimumRate() {
    minimumRate = null;
  }

  /** Charges a delivered item to the minimum rate, if it is due. */
  void chargeMinimumRate(long charge, long nowNanos) {
    if (minimumRate != null && minimumRate.has(1, nowNanos)) {
      minimumRate.take(1, charge, nowNanos);
    }
  }

  boolean isMinimumRateDue(long nowNanos) {
    return minimumRate != null && minimumRate.has(1, nowNanos);
  }
}
