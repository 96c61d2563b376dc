package dev.sluice.internal.scheduler;

import static dev.sluice.internal.util.Preconditions.requireNonEmpty;

import dev.sluice.FairQueue;
import dev.sluice.FairScheduler;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Next;
import dev.sluice.Placement;
import dev.sluice.ScheduledItem;
import dev.sluice.internal.bucket.ConfinedTokenBucket;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The scheduler: checks that no offer is open, and asks the state that its queues share. */
public final class DrrScheduler<T> implements FairScheduler<T> {
  private final SchedulerCore core;
  private final Map<String, DrrQueue<T>> queues = new LinkedHashMap<>();
  private @Nullable DrrOffer<T> open;

  public DrrScheduler(long maxCost, boolean strictOrder) {
    this.core = new SchedulerCore(maxCost, strictOrder);
  }

  @Override
  public FairQueue<T> queue(String name) {
    return queues.computeIfAbsent(
        requireNonEmpty("queue", name), absent -> new DrrQueue<>(core, absent));
  }

  @Override
  public boolean removeQueue(String name) {
    core.requireNoOffer();
    DrrQueue<T> queue = queues.get(name);
    if (queue == null) {
      return false;
    }
    queue.retire();
    queues.remove(name);
    return true;
  }

  @Override
  public void advanceTo(long nowNanos) {
    core.advanceTo(nowNanos);
  }

  @Override
  public void setLimit(String name, Limit limit) {
    core.requireNoOffer();
    core.setLimit(requireNonEmpty("limit", name), limit);
  }

  @Override
  public void setLevel(String name, double tokens) {
    core.requireNoOffer();
    if (!(tokens >= 0)) {
      throw new IllegalArgumentException("tokens must not be negative, but was " + tokens);
    }
    LimitGate gate = core.gates.get(name);
    if (gate == null || gate.bucket() == null) {
      throw new IllegalArgumentException("unknown limit: name=" + name);
    }
    gate.setLevel(tokens);
  }

  @Override
  public void returnTokens(ScheduledItem<T> delivered) {
    core.requireNoOffer();
    ((QueuedItem<T>) delivered).returnTokens(core.now());
  }

  @Override
  public boolean removeLimit(String name) {
    core.requireNoOffer();
    return core.removeLimit(name);
  }

  @Override
  public boolean hasLimit(String name) {
    LimitGate gate = core.gates.get(name);
    return gate != null && gate.bucket() != null;
  }

  @Override
  public Next<T> next(long nowNanos) {
    core.requireNoOffer();
    long now = core.advanceTo(nowNanos);
    SubQueue sub = core.next(now);
    if (sub != null) {
      DrrOffer<T> offer = new DrrOffer<>(this, sub, now);
      open = offer;
      core.offering(true);
      return offer;
    }
    long waitNanos = core.nanosUntilWakeUp(now);
    return waitNanos == ConfinedTokenBucket.NEVER
        ? new Next.Idle<>()
        : new Next.Wait<>(now + waitNanos);
  }

  /** Returns the first throttle key of {@code placement} without a limit; empty if all have one. */
  public Optional<String> unknownKey(Placement placement) {
    return placement.throttleKeys().keySet().stream().filter(key -> !hasLimit(key)).findFirst();
  }

  /**
   * Returns why an item of {@code placement} can never go under the present rates; empty if it can.
   * A key of rate 0 is paused: an item waits until the key has another rate or none.
   */
  public Optional<String> whyImpossible(Placement placement) {
    for (Map.Entry<String, Long> throttle : placement.throttleKeys().entrySet()) {
      LimitGate gate = core.gates.get(throttle.getKey());
      ConfinedTokenBucket bucket = gate == null ? null : gate.bucket();
      if (bucket != null && bucket.neverHolds(throttle.getValue())) {
        return Optional.of(
            "throttle key never holds that many tokens: throttleKey=%s, tokens=%d, limit=%s"
                .formatted(throttle.getKey(), throttle.getValue(), bucket.limit()));
      }
    }
    return Optional.empty();
  }

  /** Returns whether no state of any item or throttle key is left; for tests. */
  public boolean isAtRest() {
    return core.isAtRest();
  }

  /** Returns whether tokens are held for an item that needs others too; for tests. */
  public boolean isReserving() {
    return core.reservation.isReserving();
  }

  /** Ends {@code offer}, which must be the open one. */
  void answer(DrrOffer<T> offer) {
    if (open != offer) {
      throw new IllegalStateException("this offer was answered before: " + offer);
    }
    open = null;
    core.offering(false);
  }

  @Override
  public Optional<LimitStats> limitStats(String name) {
    LimitGate gate = core.gates.get(name);
    ConfinedTokenBucket bucket = gate == null ? null : gate.bucket();
    if (gate == null || bucket == null) {
      return Optional.empty();
    }
    return Optional.of(
        new LimitStats(
            name,
            bucket.limit(),
            bucket.level(core.now()),
            gate.waiters.size(),
            gate.taken(),
            core.nextGrantIn(gate),
            gate.waiters.impossibleCost()));
  }

  @Override
  public List<LimitStats.Waiter> waiters(String limitName, int max) {
    LimitGate gate = core.gates.get(limitName);
    return gate == null ? List.of() : gate.waiters.list(max);
  }

  @Override
  public List<LimitStats> limitStats() {
    return core.gates.keySet().stream()
        .flatMap(name -> limitStats(name).stream())
        .sorted(Comparator.comparing(LimitStats::name))
        .toList();
  }
}
