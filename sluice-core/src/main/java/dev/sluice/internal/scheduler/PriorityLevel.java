package dev.sluice.internal.scheduler;

import dev.sluice.internal.bucket.ConfinedTokenBucket;
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
  final Map<String, KeyFlow> flows = new HashMap<>();
  final DeficitRoundRobin<KeyFlow> turns = new DeficitRoundRobin<>();

  /** The rate that this priority gets even when higher ones have work. */
  @Nullable ConfinedTokenBucket minimumRate;

  PriorityLevel(int priority) {
    this.priority = priority;
  }

  boolean isMinimumRateDue(long nowNanos) {
    return minimumRate != null && minimumRate.has(1, nowNanos);
  }
}
