package dev.sluice;

/** The place of one fairness key in the line of a gate, with a deficit of its own there. */
final class Seat extends Ring.Link<Seat> {
  final Lane lane;
  final Flow flow;

  /** Its sub-queues that wait here. */
  final Ring<SubQueue> parked = new Ring<>();

  /** Sub-queues that wait here or were let through and may be back. */
  int holders;

  long deficit;

  /** Whether it has begun a turn that it has not used up. */
  boolean inTurn;

  Seat(Lane lane, Flow flow) {
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

  /** Takes its place in the line: in front if it is still its turn. */
  void join() {
    if (!isLinked() && !parked.isEmpty() && flow.hasSlot()) {
      lane.add(this);
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
      flow.seats.remove(this);
      lane.seats--;
      lane.leaveIfUnused();
    }
  }
}
