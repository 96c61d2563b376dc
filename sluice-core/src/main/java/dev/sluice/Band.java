package dev.sluice;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The fairness keys of one priority: those that have just come, and those that had their turn. */
final class Band {
  /*
   * As in RFC 8290, a key that was idle is fresh, and after its first item takes part in the rounds.
   * Unlike there, fresh and old keys alternate item by item, so that neither an old key waits for an
   * endless stream of fresh ones nor a fresh one for a round of the old. A key that runs empty stays
   * in the rounds until its next turn would come: coming back at once does not make it fresh again.
   */
  final int priority;
  final Map<String, Flow> flows = new HashMap<>();
  final Ring<Flow> fresh = new Ring<>();
  final Round<Flow> old = new Round<>();

  /** What this priority gets even when higher ones have work. */
  @Nullable PlainBucket share;

  private boolean freshNext = true;

  Band(int priority) {
    this.priority = priority;
  }

  boolean isEmpty() {
    return fresh.isEmpty() && old.isEmpty();
  }

  /** The flow whose turn it is; the band must not be empty. */
  Flow turn() {
    Flow freshest = fresh.first();
    Flow oldest = old.first();
    Flow flow = oldest == null || (freshest != null && freshNext) ? freshest : oldest;
    if (flow == null) {
      throw new IllegalStateException("no flow of priority " + priority);
    }
    return flow;
  }

  /** An item of {@code flow} goes: then it is the other ring's turn. */
  void served(Flow flow) {
    freshNext = !flow.isIn(fresh);
    flow.unlink();
    SubQueue next = flow.oldestReady();
    if (next != null) {
      old.add(flow, next.head().cost);
    }
  }

  boolean isShareDue(long nowNanos) {
    return share != null && share.has(1, nowNanos);
  }
}
