package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.internal.scheduler.QueueState;
import java.util.Collection;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Where an item goes in a {@link FairScheduler}: whose it is, how urgent, what it costs and which
 * limits it obeys.
 *
 * <p>An immutable value, made once and used for any number of items: {@code
 * Placement.of("tenant-a").withWeight(3).withThrottleKeys("provider:aws")}.
 *
 * @param fairnessKey the fairness key: between keys, turns are fair; within one, first come first
 *     served
 * @param weight what the key's share is from now on, until nothing of it waits; 0 leaves it as it
 *     is, which at first is what {@link FairQueue#setWeight} gave it, or 1
 * @param priority items of a higher priority go first, from 0 to 31
 * @param cost what the item costs its key, at least 1 and at most the scheduler's unit
 * @param throttleKeys the throttle keys, each with the tokens that the item takes there
 * @since 0.1
 */
public record Placement(
    String fairnessKey, int weight, int priority, long cost, SortedMap<String, Long> throttleKeys) {
  /** The largest weight. */
  public static final int MAX_WEIGHT = 1_000_000;

  /** The most urgent priority. */
  public static final int MAX_PRIORITY = QueueState.MAX_PRIORITY;

  /** Checks every part. */
  public Placement {
    requireName("key", fairnessKey);
    requireBetween("weight", weight, 0, MAX_WEIGHT);
    requireBetween("priority", priority, 0, MAX_PRIORITY);
    requirePositive("cost", cost);
    TreeMap<String, Long> copy = new TreeMap<>(throttleKeys);
    copy.forEach(
        (name, tokens) -> {
          requireName("throttle key", name);
          requirePositive("tokens of " + name, tokens);
        });
    throttleKeys = Collections.unmodifiableSortedMap(copy);
  }

  /**
   * An item of {@code key}, of priority 0 and cost 1, without throttles.
   *
   * @param key the fairness key, not empty
   * @return the placement
   */
  public static Placement of(String key) {
    return new Placement(key, 0, 0, 1, Collections.emptySortedMap());
  }

  /**
   * The same, with a weight that the key has from this item on.
   *
   * @param newWeight from 1 to {@link #MAX_WEIGHT}
   * @return the placement
   */
  public Placement withWeight(int newWeight) {
    requireBetween("weight", newWeight, 1, MAX_WEIGHT);
    return new Placement(fairnessKey, newWeight, priority, cost, throttleKeys);
  }

  /**
   * The same, with another priority.
   *
   * @param newPriority from 0 to {@link #MAX_PRIORITY}, which goes first
   * @return the placement
   */
  public Placement withPriority(int newPriority) {
    return new Placement(fairnessKey, weight, newPriority, cost, throttleKeys);
  }

  /**
   * The same, with another cost.
   *
   * @param newCost at least 1
   * @return the placement
   */
  public Placement withCost(long newCost) {
    return new Placement(fairnessKey, weight, priority, newCost, throttleKeys);
  }

  /**
   * The same, obeying these throttle keys too, with one token at each.
   *
   * @param names throttle keys; duplicates count once
   * @return the placement
   */
  public Placement withThrottleKeys(String... names) {
    TreeMap<String, Long> more = new TreeMap<>(throttleKeys);
    for (String name : names) {
      more.put(requireName("throttle key", name), 1L);
    }
    return new Placement(fairnessKey, weight, priority, cost, more);
  }

  /**
   * The same, obeying one more throttle key.
   *
   * @param name the throttle key
   * @param tokens what the item takes there, at least 1
   * @return the placement
   */
  public Placement withThrottleKey(String name, long tokens) {
    TreeMap<String, Long> more = new TreeMap<>(throttleKeys);
    more.put(requireName("throttle key", name), tokens);
    return new Placement(fairnessKey, weight, priority, cost, more);
  }

  /** Tokens by throttle key in order; null where it is one at each. */
  long @org.jspecify.annotations.Nullable [] tokens() {
    Collection<Long> each = throttleKeys.values();
    return each.stream().allMatch(tokens -> tokens == 1)
        ? null
        : each.stream().mapToLong(Long::longValue).toArray();
  }

  static String requireName(String what, String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException(what + " must not be empty");
    }
    return name;
  }

  static int requireBetween(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + " must be from " + least + " to " + most + ": " + name + "=" + value);
    }
    return value;
  }
}
