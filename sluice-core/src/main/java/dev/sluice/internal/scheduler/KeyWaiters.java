package dev.sluice.internal.scheduler;

import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.List;

/** The place of one fairness key in the line of a gate, with a deficit of its own there. */
final class KeyWaiters extends DeficitRound.Member<KeyWaiters> {
  final QueueWaiters lane;
  final KeyFlow flow;

  /** Its sub-queues that wait here. */
  final IntrusiveList<SubQueue> parked = new IntrusiveList<>();

  /** Sub-queues that wait here or were let through and may be back. */
  int holders;

  KeyWaiters(QueueWaiters lane, KeyFlow flow) {
    this.lane = lane;
    this.flow = flow;
    lane.seats++;
  }

  /** {@code sub} waits here. */
  void take(SubQueue sub) {
    parked.addLast(sub);
    lane.waiters++;
    join();
  }

  /** {@code sub} waits here no more. */
  void leave(SubQueue sub) {
    if (sub.isIn(parked)) {
      sub.unlink();
      lane.waiters--;
      if (parked.isEmpty()) {
        leaveLine();
      }
    }
  }

  /** Those that wait here. */
  List<SubQueue> parked() {
    List<SubQueue> all = new ArrayList<>(1);
    parked.list(all, Integer.MAX_VALUE);
    return all;
  }

  @Override
  long quantum() {
    return flow.quantum();
  }

  /** Takes its place in the line. */
  void join() {
    SubQueue first = parked.first();
    if (first != null && !isLinked() && flow.hasSlot()) {
      lane.add(this, first.head().cost);
    }
  }

  void leaveLine() {
    if (isLinked()) {
      lane.remove(this);
    }
  }

  void leaveIfUnused() {
    if (holders == 0) {
      leaveLine();
      flow.leave(this);
      lane.forget(this);
    }
  }
}
