package dev.sluice.internal.scheduler;

import dev.sluice.ScheduledItem;
import dev.sluice.internal.util.IntrusiveList;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An item of the scheduler, linked in its sub-queue while it waits. */
public final class QueuedItem<T> extends IntrusiveList.Link<QueuedItem<?>>
    implements ScheduledItem<T> {
  private final T item;
  private final String fairnessKey;

  /** Order of arrival. */
  final long sequence;

  /** The cost to its fairness key. */
  final long cost;

  final ThrottleKeySet set;

  /** Tokens at each gate of the set; null where it is one at each. */
  private final long @Nullable [] tokens;

  /** The sub-queue in which it waits; null once it was delivered or removed. */
  private @Nullable SubQueue queued;

  /** The slot it occupies while it is in flight, if its key has a concurrency limit. */
  private @Nullable ConcurrencySlots slots;

  /** The number under which it took its tokens; 0 if it took none that it could give back. */
  private long charge;

  QueuedItem(
      T item, String key, long sequence, long cost, ThrottleKeySet set, long @Nullable [] tokens) {
    this.item = item;
    this.fairnessKey = key;
    this.sequence = sequence;
    this.cost = cost;
    this.set = set;
    this.tokens = tokens;
  }

  @Override
  public T item() {
    return item;
  }

  @Override
  public String fairnessKey() {
    return fairnessKey;
  }

  @Override
  public boolean isQueued() {
    return queued != null;
  }

  @Override
  public boolean remove() {
    SubQueue from = queued;
    if (from == null) {
      return false;
    }
    from.flow.queue.remove(from, this);
    return true;
  }

  @Override
  public boolean complete() {
    if (queued != null) {
      throw new IllegalStateException("item has not been delivered: " + this);
    }
    ConcurrencySlots held = slots;
    if (held == null) {
      return false;
    }
    held.queue.release(held);
    slots = null;
    return true;
  }

  /** Notes the sub-queue in which the item waits. */
  void enterQueue(SubQueue sub) {
    queued = sub;
  }

  /** Unlinks the item, which is delivered or removed. */
  void leaveQueue() {
    unlink();
    queued = null;
  }

  /** Occupies a slot of its key while it is in flight. */
  void occupy(ConcurrencySlots held) {
    slots = held;
    held.occupy();
  }

  /** Takes its tokens from all gates of its set, under a new number. */
  void takeTokens(SchedulerCore core, long nowNanos) {
    LimitGate[] gates = set.gates;
    if (gates.length > 0) {
      charge = core.nextCharge();
      for (int i = 0; i < gates.length; i++) {
        gates[i].take(tokensAt(i), charge, nowNanos);
      }
    }
  }

  /** Returns whether the item is in flight and its key has a concurrency limit; for tests. */
  public boolean occupiesSlot() {
    return slots != null;
  }

  void returnTokens(long nowNanos) {
    long taken = charge;
    charge = 0;
    for (int i = 0; taken > 0 && i < set.gates.length; i++) {
      set.gates[i].returnTokens(tokensAt(i), taken, nowNanos);
    }
  }

  /** Returns a copy of this item, to wait at the same place again. */
  QueuedItem<T> again(ThrottleKeySet entered) {
    return new QueuedItem<>(item, fairnessKey, sequence, cost, entered, tokens);
  }

  /** Returns the tokens it takes from the gate at {@code index} of its set. */
  long tokensAt(int index) {
    return tokens == null ? 1 : tokens[index];
  }

  long tokensAt(LimitGate gate) {
    if (tokens != null) {
      for (int i = 0; i < tokens.length; i++) {
        if (set.gates[i] == gate) {
          return tokens[i];
        }
      }
    }
    return 1;
  }

  @Override
  public String toString() {
    return "ScheduledItem[item=" + Objects.toString(item) + ", key=" + fairnessKey + "]";
  }
}
