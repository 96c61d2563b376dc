package dev.sluice.internal.scheduler;

import static dev.sluice.internal.util.Preconditions.requireAtMost;
import static dev.sluice.internal.util.Preconditions.requireBetween;
import static dev.sluice.internal.util.Preconditions.requireNonEmpty;
import static dev.sluice.internal.util.Preconditions.requireNonNegative;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.FairQueue;
import dev.sluice.FairnessKeyStats;
import dev.sluice.Limit;
import dev.sluice.Placement;
import dev.sluice.ScheduledItem;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A queue of the scheduler: checks arguments and that no offer is open, then acts on its state. */
public final class DrrQueue<T> implements FairQueue<T> {
  private final SchedulerCore core;
  private final QueueState state;

  DrrQueue(SchedulerCore core, String name) {
    this.core = core;
    this.state = new QueueState(core, name);
  }

  @Override
  public String name() {
    return state.name;
  }

  @Override
  public ScheduledItem<T> enqueue(T item, Placement placement) {
    Objects.requireNonNull(item, "item");
    core.requireNoOffer();
    requireAtMost("cost", placement.cost(), core.unit);
    ThrottleKeySet set = core.enter(placement.throttleKeys());
    QueuedItem<T> scheduled =
        new QueuedItem<>(
            item,
            placement.fairnessKey(),
            core.nextSequence(),
            placement.cost(),
            set,
            tokens(placement));
    state.enqueue(scheduled, placement.weight(), placement.priority());
    return scheduled;
  }

  @Override
  public ScheduledItem<T> requeue(ScheduledItem<T> delivered, Placement placement) {
    core.requireNoOffer();
    delivered.complete();
    ThrottleKeySet set = core.enter(placement.throttleKeys());
    QueuedItem<T> again = ((QueuedItem<T>) delivered).again(set);
    state.enqueue(again, placement.weight(), placement.priority());
    return again;
  }

  @Override
  public void markDelivered(ScheduledItem<T> waiting) {
    if (!waiting.remove()) {
      throw new IllegalStateException("item does not wait: " + waiting);
    }
    state.occupySlot((QueuedItem<T>) waiting);
  }

  @Override
  public void setStrictOrder(boolean strict) {
    core.requireNoOffer();
    state.setStrictOrder(strict);
  }

  @Override
  public void setWeight(String fairnessKey, int weight) {
    core.requireNoOffer();
    requireBetween("weight", weight, 1, Placement.MAX_WEIGHT);
    state.weigh(requireNonEmpty("key", fairnessKey), weight);
  }

  @Override
  public void setCredit(long items) {
    core.requireNoOffer();
    state.credit(requireNonNegative("items", items));
  }

  @Override
  public long credit() {
    return state.credit();
  }

  @Override
  public boolean hasReady() {
    return state.isLinked() || core.mayLetThrough(state);
  }

  @Override
  public void setMaxInFlightPerKey(int max) {
    core.requireNoOffer();
    requirePositive("max", max);
    state.limitSlots(null, max);
  }

  @Override
  public void setMaxInFlight(String fairnessKey, int max) {
    core.requireNoOffer();
    requirePositive("max", max);
    state.limitSlots(requireNonEmpty("key", fairnessKey), max);
  }

  @Override
  public void setMinimumRate(int priority, Limit rate) {
    core.requireNoOffer();
    requireBetween("priority", priority, 0, Placement.MAX_PRIORITY);
    if (rate.capacity() < 1) {
      throw new IllegalArgumentException("burst must be at least 1: rate=" + rate);
    }
    state.setMinimumRate(priority, rate);
  }

  @Override
  public void removeMinimumRate(int priority) {
    core.requireNoOffer();
    requireBetween("priority", priority, 0, Placement.MAX_PRIORITY);
    state.removeMinimumRate(priority);
  }

  @Override
  public Optional<FairnessKeyStats> stats(String fairnessKey) {
    List<KeyFlow> flows = state.flowsOf(fairnessKey);
    int pending = flows.stream().mapToInt(KeyFlow::pending).sum();
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
            fairnessKey,
            pending,
            state.inFlight(fairnessKey),
            flows.get(0).weight(),
            deficit,
            List.copyOf(throttled)));
  }

  @Override
  public List<FairnessKeyStats> stats() {
    return state.flows().stream()
        .map(flow -> flow.key)
        .sorted()
        .distinct()
        .flatMap(key -> stats(key).stream())
        .toList();
  }

  @Override
  public boolean isThrottled(String fairnessKey) {
    boolean waits = false;
    for (KeyFlow flow : state.flowsOf(fairnessKey)) {
      if (flow.oldestReady() != null) {
        return false;
      }
      waits |= !flow.isIdle();
    }
    return waits;
  }

  @Override
  public long waitingWeight(String limitName) {
    LimitGate gate = core.gates.get(limitName);
    return gate == null ? 0 : gate.waiters.weightOf(state);
  }

  /** Leaves the scheduler. */
  void retire() {
    if (!state.flows().stream().allMatch(KeyFlow::isIdle)) {
      throw new IllegalStateException("queue must be empty: queue=" + name());
    }
    state.credit(0);
    core.withMinimumRates.remove(state);
  }

  /** Returns the tokens by throttle key, in order; null where it is one of each. */
  private static long @Nullable [] tokens(Placement placement) {
    Collection<Long> each = placement.throttleKeys().values();
    return each.stream().allMatch(tokens -> tokens == 1)
        ? null
        : each.stream().mapToLong(Long::longValue).toArray();
  }

  @Override
  public String toString() {
    return "FairQueue[" + state.name + "]";
  }
}
