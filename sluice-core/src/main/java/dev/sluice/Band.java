package dev.sluice;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fairness keys of one priority, and whose turn it is. */
final class Band {
  /*
   * A key that runs empty stays among the old until its next turn would come: coming back at once
   * does not make it fresh again.
   */
  final int priority;
  final Map<String, Flow> flows = new HashMap<>();
  final Turns<Flow> turns = new Turns<>();

  /** What this priority gets even when higher ones have work. */
  @Nullable PlainBucket share;

  Band(int priority) {
    this.priority = priority;
  }

  boolean isShareDue(long nowNanos) {
    return share != null && share.has(1, nowNanos);
  }
}
