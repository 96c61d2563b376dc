package dev.sluice.internal.scheduler;

import dev.sluice.ScheduledItem;
import dev.sluice.internal.util.IndexedHeap;
import dev.sluice.internal.util.IntrusiveList;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The items of one fairness key that name the same throttle keys, in order of arrival.
 *
 * <p>Either ready, and then among the ready ones of its flow, or parked at a gate. In strict order
 * a flow has one sub-queue, whose items differ in their sets.
 */
public final class SubQueue extends IndexedHeap.Node<SubQueue> {
  private static final List<LimitGate> NO_GATES = List.of();

  public final KeyFlow flow;
  final ThrottleKeySet set;
  public final IntrusiveList<ScheduledItem<?>> items = new IntrusiveList<>();

  /** The gate at which it is parked. */
  public @Nullable LimitGate parkedAt;

  /** Its place in the line of a gate, kept from parking until it is known to need none. */
  @Nullable KeyWaiters seat;

  /** Whether every gate of its head keeps the tokens for it. */
  boolean promised;

  /**
   * Gates that keep the tokens for it while it waits at another; see {@link MultiLimitReservation}.
   */
  List<LimitGate> held = NO_GATES;

  /** Gates that would have let it through in that round, had not another one held it up. */
  private @Nullable Set<LimitGate> turns;

  private long turnsRound;

  /** How often one gate let it through and another did not, since it last went. */
  int bounces;

  SubQueue(KeyFlow flow, ThrottleKeySet set) {
    this.flow = flow;
    this.set = set;
  }

  public ScheduledItem<?> head() {
    ScheduledItem<?> head = items.first();
    if (head == null) {
      throw new IllegalStateException("empty sub-queue of " + flow);
    }
    return head;
  }

  /** Puts {@code item} where its sequence says: at the end, or where it was before it went. */
  void add(ScheduledItem<?> item) {
    ScheduledItem<?> last = items.last();
    if (last == null || last.sequence < item.sequence) {
      items.addLast(item);
    } else {
      ScheduledItem<?> next = head();
      while (next != null && next.sequence < item.sequence) {
        next = next.after();
      }
      items.addBefore(item, Objects.requireNonNull(next));
    }
    item.queued = this;
  }

  /** Every gate keeps the tokens of its head. */
  void promise() {
    for (LimitGate gate : head().set.gates) {
      if (!held.contains(gate)) {
        changePromise(gate, 1);
      }
    }
    held = NO_GATES;
    promised = true;
  }

  /** {@code gate} keeps the tokens of its head. */
  void hold(LimitGate gate) {
    if (held.contains(gate)) {
      return;
    }
    if (held.isEmpty()) {
      held = new ArrayList<>(2);
    }
    held.add(gate);
    changePromise(gate, 1);
  }

  /** {@code gate} need not keep the tokens of its head any more, if it did. */
  void letGo(LimitGate gate) {
    if (held.contains(gate)) {
      held.remove(gate);
      changePromise(gate, -1);
    }
  }

  /** Its head has taken what was promised. */
  void keepPromise() {
    promised = false;
    for (LimitGate gate : head().set.gates) {
      changePromise(gate, -1);
    }
  }

  /** No gate need keep the tokens of its head any more, if it did. */
  void withdraw() {
    if (promised) {
      keepPromise();
      if (seat != null) {
        seat.deficit += head().cost;
        seat.lane.doNotAwait(seat);
      }
    }
    for (LimitGate gate : held) {
      changePromise(gate, -1);
    }
    held = NO_GATES;
  }

  private void changePromise(LimitGate gate, int sign) {
    gate.laneOf(flow.queue).promise(flow.band.priority, sign * head().tokensAt(gate));
  }

  /* Else two lines in which it is first could send it to and fro for ever. */
  void hasTurnAt(LimitGate gate, long round) {
    if (turns == null || turnsRound != round) {
      turns = new HashSet<>();
      turnsRound = round;
    }
    turns.add(gate);
  }

  boolean hadTurnAt(LimitGate gate, long round) {
    return turns != null && turnsRound == round && turns.contains(gate);
  }

  /** Sits at {@code gate}; a seat it has elsewhere is given up. */
  KeyWaiters seatAt(LimitGate gate) {
    KeyWaiters held = seat;
    if (held != null && held.lane.gate == gate) {
      return held;
    }
    leaveSeat();
    KeyWaiters taken = flow.seatAt(gate);
    taken.holders++;
    seat = taken;
    return taken;
  }

  void leaveSeat() {
    KeyWaiters held = seat;
    if (held != null) {
      seat = null;
      held.holders--;
      held.leaveIfUnused();
    }
  }

  /** Leaves the line of the gate at which it is parked, but not its seat. */
  void unpark() {
    if (seat != null) {
      seat.leave(this);
    }
    unlink();
    parkedAt = null;
  }

  @Override
  public long rank() {
    return head().sequence;
  }
}
