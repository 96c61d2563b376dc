package dev.sluice;

import static dev.sluice.Placement.requireBetween;
import static dev.sluice.Placement.requireName;
import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requireNonNegative;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.internal.scheduler.KeyFlow;
import dev.sluice.internal.scheduler.LimitGate;
import dev.sluice.internal.scheduler.QueueState;
import dev.sluice.internal.scheduler.SchedulerCore;
import dev.sluice.internal.scheduler.SubQueue;
import dev.sluice.internal.scheduler.ThrottleKeySet;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * One queue of a {@link FairScheduler}: it shares throttle keys with the others, nothing else.
 *
 * <p>Not thread-safe: like the scheduler, it belongs to one thread at a time.
 *
 * @param <T> what is scheduled
 * @since 0.1
 */
public final class FairQueue<T> {
  /** Credit that never runs out, which a queue has at first. */
  public static final long UNLIMITED_CREDIT = Long.MAX_VALUE;

  private final SchedulerCore core;
  private final QueueState state;

  FairQueue(SchedulerCore core, String name) {
    this.core = core;
    this.state = new QueueState(core, name);
  }

  /**
   * The name under which the scheduler knows it.
   *
   * @return the name
   */
  public String name() {
    return state.name;
  }

  /**
   * Puts an item in line.
   *
   * @param item what to schedule
   * @param placement whose it is, how urgent, what it costs and which limits it obeys
   * @return a handle by which it can be removed and completed
   * @throws IllegalArgumentException if it costs more than the scheduler's unit
   * @throws IllegalStateException while an offer is open
   */
  public ScheduledItem<T> enqueue(T item, Placement placement) {
    Objects.requireNonNull(item, "item");
    core.requireNoOffer();
    requireAtMost("cost", placement.cost(), core.unit);
    ThrottleKeySet set = core.enter(placement.throttleKeys());
    ScheduledItem<T> scheduled =
        new ScheduledItem<>(
            item,
            placement.fairnessKey(),
            core.nextSequence(),
            placement.cost(),
            set,
            placement.tokens());
    state.enqueue(scheduled, placement.weight(), placement.priority());
    return scheduled;
  }

  /**
   * Puts an item that was delivered back to where it was: before all of its key that came after it.
   *
   * <p>It takes its tokens again when it goes again. Only {@link FairScheduler#returnTokens}
   * returns those that it took before.
   *
   * @param delivered what {@link Next.Offer#confirm} returned; completed by this
   * @param placement the one it was enqueued with; a weight is given to its key, as by enqueueing
   * @return the handle that takes the place of {@code delivered}
   * @throws IllegalStateException if it waits, or while an offer is open
   */
  public ScheduledItem<T> requeue(ScheduledItem<T> delivered, Placement placement) {
    core.requireNoOffer();
    delivered.complete();
    ThrottleKeySet set = core.enter(placement.throttleKeys());
    ScheduledItem<T> again = delivered.again(set);
    state.enqueue(again, placement.weight(), placement.priority());
    return again;
  }

  /**
   * Takes an item out as if it had been delivered, as after a restart: it occupies a slot if its
   * key has a concurrency limit, and can be {@link #requeue}. It takes no tokens, no turn and no
   * credit.
   *
   * @param waiting an item that waits in this queue
   * @throws IllegalStateException if it does not wait, or while an offer is open
   */
  public void markDelivered(ScheduledItem<T> waiting) {
    if (!waiting.remove()) {
      throw new IllegalStateException("item does not wait: " + waiting);
    }
    state.occupySlot(waiting);
  }

  /**
   * Says whether keys keep the order of all their items, so that one that has to wait for a
   * throttle key holds up those behind it. Holds for items enqueued from now on; at first it is
   * what the scheduler was built with.
   *
   * @param strict true to keep it
   */
  public void setStrictOrder(boolean strict) {
    core.requireNoOffer();
    state.strictOrder = strict;
  }

  /** Leaves the scheduler. */
  void retire() {
    if (!state.flows().stream().allMatch(flow -> flow.pending == 0)) {
      throw new IllegalStateException("queue must be empty: queue=" + name());
    }
    state.credit(0);
    core.sharing.remove(state);
  }

  /**
   * Gives a key a weight, at once and until it is given another: a key of weight 2 gets twice the
   * service of a key of weight 1.
   *
   * @param key the fairness key
   * @param weight from 1 to {@link Placement#MAX_WEIGHT}
   */
  public void setWeight(String key, int weight) {
    core.requireNoOffer();
    requireBetween("weight", weight, 1, Placement.MAX_WEIGHT);
    state.weigh(requireName("key", key), weight);
  }

  /**
   * Says how many items the consumers of this queue can take now. Every confirmed item uses one.
   *
   * <p>A queue without credit is passed over, and holds up nobody at a throttle key.
   *
   * @param items at least 0, or {@link #UNLIMITED_CREDIT}
   */
  public void setCredit(long items) {
    core.requireNoOffer();
    state.credit(requireNonNegative("items", items));
  }

  /**
   * How many items the consumers of this queue can take.
   *
   * @return the credit left
   */
  public long credit() {
    return state.credit();
  }

  /**
   * Returns whether {@link FairScheduler#next} may offer an item of this queue at the instant of
   * its last call.
   *
   * @return false if no item of this queue can go before time passes or something changes
   */
  public boolean hasReady() {
    return state.isLinked() || core.mayLetThrough(state);
  }

  /**
   * Limits how many items of every key may be in flight, except of keys with a limit of their own.
   *
   * <p>Only items confirmed while a limit is in force count.
   *
   * @param limit at least 1; {@link Integer#MAX_VALUE} for no limit
   */
  public void setMaxInFlightPerKey(int limit) {
    core.requireNoOffer();
    requirePositive("limit", limit);
    state.limitSlots(null, limit);
  }

  /**
   * Limits how many items of one key may be in flight.
   *
   * @param key the fairness key
   * @param limit at least 1; {@link Integer#MAX_VALUE} for no limit
   */
  public void setMaxInFlight(String key, int limit) {
    core.requireNoOffer();
    requirePositive("limit", limit);
    state.limitSlots(requireName("key", key), limit);
  }

  /**
   * Sets a rate that a priority gets even while more urgent ones wait.
   *
   * @param priority from 0 to {@link Placement#MAX_PRIORITY}
   * @param rate items per second, counting those that it gets anyway, and how many of them may go
   *     at once, at least 1; a {@link Limit.Balanced} or {@link Limit.Rate}
   * @throws IllegalArgumentException if an argument is out of range
   */
  public void setMinimumRate(int priority, Limit rate) {
    core.requireNoOffer();
    requireBetween("priority", priority, 0, Placement.MAX_PRIORITY);
    if (rate.capacity() < 1) {
      throw new IllegalArgumentException("burst must be at least 1: rate=" + rate);
    }
    state.share(priority, rate);
  }

  /**
   * Removes the minimum rate of a priority.
   *
   * @param priority from 0 to {@link Placement#MAX_PRIORITY}
   */
  public void removeMinimumRate(int priority) {
    core.requireNoOffer();
    requireBetween("priority", priority, 0, Placement.MAX_PRIORITY);
    state.removeShare(priority);
  }

  /**
   * How one key stands.
   *
   * @param key the fairness key
   * @return empty if nothing of it waits
   */
  public Optional<FairnessKeyStats> stats(String key) {
    List<KeyFlow> flows = state.flowsOf(key);
    int pending = flows.stream().mapToInt(flow -> flow.pending).sum();
    if (pending == 0) {
      return Optional.empty();
    }
    long deficit = flows.stream().mapToLong(KeyFlow::deficit).sum();
    List<FairnessKeyStats.Throttled> throttled = new ArrayList<>();
    for (KeyFlow flow : flows) {
      for (SubQueue sub : flow.subQueues()) {
        LimitGate gate = sub.parkedAt();
        if (gate != null) {
          throttled.add(
              new FairnessKeyStats.Throttled(gate.name, sub.items.size(), core.nextGrantIn(gate)));
        }
      }
    }
    return Optional.of(
        new FairnessKeyStats(
            key,
            pending,
            state.inFlight(key),
            flows.get(0).weight,
            deficit,
            List.copyOf(throttled)));
  }

  /**
   * Whether no turn helps a key: something of it waits, and all of it for throttle keys.
   *
   * @param key the fairness key
   * @return false if something of it can go, or nothing waits
   */
  public boolean isThrottled(String key) {
    boolean waits = false;
    for (KeyFlow flow : state.flowsOf(key)) {
      if (flow.oldestReady() != null) {
        return false;
      }
      waits |= flow.pending > 0;
    }
    return waits;
  }

  /**
   * The weights together of the keys of this queue that wait for a throttle key: what it lets
   * through is shared by them; without keys that have no slot. Takes a pass over them.
   *
   * @param throttleKey the throttle key
   * @return 0 if nobody waits for it
   */
  public long waitingWeight(String throttleKey) {
    LimitGate gate = core.gates.get(throttleKey);
    return gate == null ? 0 : gate.waiters().weightOf(state);
  }

  /**
   * How every key stands of which something waits, by name.
   *
   * @return a snapshot
   */
  public List<FairnessKeyStats> stats() {
    return state.flows().stream()
        .map(flow -> flow.key)
        .sorted()
        .distinct()
        .flatMap(key -> stats(key).stream())
        .toList();
  }

  @Override
  public String toString() {
    return "FairQueue[" + state.name + "]";
  }
}
