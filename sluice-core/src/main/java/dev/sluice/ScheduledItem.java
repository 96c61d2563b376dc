package dev.sluice;

import dev.sluice.internal.scheduler.ConcurrencySlots;
import dev.sluice.internal.scheduler.LimitGate;
import dev.sluice.internal.scheduler.SubQueue;
import dev.sluice.internal.scheduler.ThrottleKeySet;
import dev.sluice.internal.util.IntrusiveList;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An item that a {@link FairScheduler} was given, from its enqueueing to its completion.
 *
 * <p>Not thread-safe: like the scheduler, it belongs to one thread at a time.
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public final class ScheduledItem<T> extends IntrusiveList.Link<ScheduledItem<?>> {
  private final T item;
  private final String fairnessKey;

  /** Order of arrival. */
  public final long sequence;

  /** The cost to its fairness key. */
  public final long cost;

  public final ThrottleKeySet set;

  /** Tokens at each gate of the set; null where it is one at each. */
  private final long @Nullable [] tokens;

  /** Where it waits; null once it has been delivered or removed. */
  public @Nullable SubQueue queued;

  /** The slot it occupies while it is in flight, if its key has a concurrency limit. */
  public @Nullable ConcurrencySlots slots;

  /** The number under which it took its tokens; 0 if it took none that it could give back. */
  public long charge;

  ScheduledItem(
      T item, String key, long sequence, long cost, ThrottleKeySet set, long @Nullable [] tokens) {
    this.item = item;
    this.fairnessKey = key;
    this.sequence = sequence;
    this.cost = cost;
    this.set = set;
    this.tokens = tokens;
  }

  /**
   * Returns the item that was enqueued.
   *
   * @return the item
   */
  public T item() {
    return item;
  }

  /**
   * Returns the fairness key it was enqueued under.
   *
   * @return the key
   */
  public String fairnessKey() {
    return fairnessKey;
  }

  /**
   * Returns whether it is still queued: neither delivered nor removed.
   *
   * @return true while it is queued
   */
  public boolean isQueued() {
    return queued != null;
  }

  /**
   * Removes it from its queue, at any position.
   *
   * @return false if it has been delivered or removed before
   * @throws IllegalStateException while an offer is open
   */
  public boolean remove() {
    SubQueue from = queued;
    if (from == null) {
      return false;
    }
    from.flow.queue.remove(from, this);
    return true;
  }

  /**
   * Marks its work as done, which frees its slot if the maximum in flight of its key is bounded.
   *
   * @return whether a slot came free: false without a limit, and the second time
   * @throws IllegalStateException if it has not been delivered, or while an offer is open
   */
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

  void returnTokens(long nowNanos) {
    long taken = charge;
    charge = 0;
    for (int i = 0; taken > 0 && i < set.gates.length; i++) {
      set.gates[i].giveBack(tokensAt(i), taken, nowNanos);
    }
  }

  /** The same, to wait at the same place again. */
  ScheduledItem<T> again(ThrottleKeySet entered) {
    return new ScheduledItem<>(item, fairnessKey, sequence, cost, entered, tokens);
  }

  /** Returns the tokens it takes from the gate at {@code index} of its set. */
  public long tokensAt(int index) {
    return tokens == null ? 1 : tokens[index];
  }

  public long tokensAt(LimitGate gate) {
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
