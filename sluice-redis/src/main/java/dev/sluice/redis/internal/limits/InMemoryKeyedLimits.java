package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The named limits of this process alone. Thread-safe. */
final class InMemoryKeyedLimits {
  private final Limits limits;

  /** Guarded by this; as they were set. */
  private final SortedMap<String, Limit> definitions = new TreeMap<>();

  InMemoryKeyedLimits(Limits limits) {
    this.limits = limits;
  }

  /** Sets a limit whose bucket starts empty: its tokens may have been taken before a restart. */
  synchronized void restore(String name, Limit limit) {
    limits.restore(name, limit);
    definitions.put(name, limit);
  }

  synchronized void set(String name, Limit limit) {
    NamedLimit.require(limit);
    limits.set(LimitNames.require(name), limit);
    definitions.put(name, limit);
  }

  synchronized boolean remove(String name) {
    definitions.remove(LimitNames.require(name));
    return limits.remove(name);
  }

  synchronized SortedMap<String, Limit> limits() {
    return Collections.unmodifiableSortedMap(new TreeMap<>(definitions));
  }

  boolean tryAcquire(Map<String, Long> costs) {
    return limits.tryAcquire(costs);
  }

  Decision decide(Map<String, Long> costs) {
    return limits.decide(costs);
  }

  Decision peek(Map<String, Long> costs) {
    return limits.peek(costs);
  }

  Optional<LimitStats> stats(String name) {
    return limits.stats(name);
  }
}
