package dev.sluice;

import static dev.sluice.internal.util.Preconditions.requireBetween;
import static dev.sluice.internal.util.Preconditions.requireNonEmpty;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The scheduling attributes of an item in a {@link FairScheduler}: fairness key, weight, priority,
 * cost and throttle keys.
 *
 * <p>An immutable value, made once and used for any number of items: {@code
 * Placement.of("tenant-a").withWeight(3).withThrottleKeys("provider:aws")}.
 *
 * @since 0.1
 */
public final class Placement {
  /** The largest weight. */
  public static final int MAX_WEIGHT = 1_000_000;

  /** The most urgent priority. */
  public static final int MAX_PRIORITY = 31;

  private final String fairnessKey;
  private final int weight;
  private final int priority;
  private final long cost;

  /** Not modifiable. */
  private final SortedMap<String, Long> throttleKeys;

  private Placement(
      String fairnessKey,
      int weight,
      int priority,
      long cost,
      SortedMap<String, Long> throttleKeys) {
    this.fairnessKey = fairnessKey;
    this.weight = weight;
    this.priority = priority;
    this.cost = cost;
    this.throttleKeys = throttleKeys;
  }

  /**
   * Returns the placement of an item of {@code fairnessKey}, of priority 0 and cost 1, without
   * throttle keys.
   *
   * @param fairnessKey the fairness key, not empty: between keys, turns are fair; within one, the
   *     first item goes first
   * @return the placement
   */
  public static Placement of(String fairnessKey) {
    requireNonEmpty("fairnessKey", fairnessKey);
    return new Placement(fairnessKey, 0, 0, 1, Collections.emptySortedMap());
  }

  /**
   * Returns this placement with a weight that the fairness key has from this item on, as long as
   * items of it wait.
   *
   * @param weight from 1 to {@link #MAX_WEIGHT}
   * @return the placement
   */
  public Placement withWeight(int weight) {
    requireBetween("weight", weight, 1, MAX_WEIGHT);
    return new Placement(fairnessKey, weight, priority, cost, throttleKeys);
  }

  /**
   * Returns this placement with another priority.
   *
   * @param priority from 0 to {@link #MAX_PRIORITY}, which goes first
   * @return the placement
   */
  public Placement withPriority(int priority) {
    requireBetween("priority", priority, 0, MAX_PRIORITY);
    return new Placement(fairnessKey, weight, priority, cost, throttleKeys);
  }

  /**
   * Returns this placement with another cost.
   *
   * @param cost what the item costs its fairness key, at least 1 and at most what the scheduler
   *     allows
   * @return the placement
   */
  public Placement withCost(long cost) {
    requirePositive("cost", cost);
    return new Placement(fairnessKey, weight, priority, cost, throttleKeys);
  }

  /**
   * Returns this placement with more throttle keys, and one token of each.
   *
   * @param throttleKeys throttle keys; duplicates count once
   * @return the placement
   */
  public Placement withThrottleKeys(String... throttleKeys) {
    TreeMap<String, Long> more = new TreeMap<>(this.throttleKeys);
    for (String key : throttleKeys) {
      more.put(requireNonEmpty("throttleKey", key), 1L);
    }
    return withAll(more);
  }

  /**
   * Returns this placement with more throttle keys, and the given tokens of each.
   *
   * @param throttleKeys tokens that the item takes, at least 1, by throttle key
   * @return the placement
   */
  public Placement withThrottleKeys(Map<String, Long> throttleKeys) {
    TreeMap<String, Long> more = new TreeMap<>(this.throttleKeys);
    throttleKeys.forEach(
        (name, tokens) -> {
          requireNonEmpty("throttleKey", name);
          more.put(name, requirePositive("tokens of " + name, tokens));
        });
    return withAll(more);
  }

  /**
   * Returns this placement with one more throttle key.
   *
   * @param throttleKey the throttle key
   * @param tokens what the item takes of it, at least 1
   * @return the placement
   */
  public Placement withThrottleKey(String throttleKey, long tokens) {
    return withThrottleKeys(Map.of(throttleKey, tokens));
  }

  private Placement withAll(SortedMap<String, Long> keys) {
    SortedMap<String, Long> unmodifiable = Collections.unmodifiableSortedMap(keys);
    return new Placement(fairnessKey, weight, priority, cost, unmodifiable);
  }

  /**
   * Returns the fairness key.
   *
   * @return not empty
   */
  public String fairnessKey() {
    return fairnessKey;
  }

  /**
   * Returns the weight that the fairness key gets.
   *
   * @return 0 if its weight stays as it is, which at first is what {@link FairQueue#setWeight} gave
   *     it, or 1
   */
  public int weight() {
    return weight;
  }

  /**
   * Returns the priority.
   *
   * @return from 0 to {@link #MAX_PRIORITY}
   */
  public int priority() {
    return priority;
  }

  /**
   * Returns what the item costs its fairness key.
   *
   * @return at least 1
   */
  public long cost() {
    return cost;
  }

  /**
   * Returns the tokens that the item takes, by throttle key.
   *
   * @return an unmodifiable map
   */
  public SortedMap<String, Long> throttleKeys() {
    return throttleKeys;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Placement that
        && fairnessKey.equals(that.fairnessKey)
        && weight == that.weight
        && priority == that.priority
        && cost == that.cost
        && throttleKeys.equals(that.throttleKeys);
  }

  @Override
  public int hashCode() {
    return Objects.hash(fairnessKey, weight, priority, cost, throttleKeys);
  }

  @Override
  public String toString() {
    return "Placement[fairnessKey=%s, weight=%d, priority=%d, cost=%d, throttleKeys=%s]"
        .formatted(fairnessKey, weight, priority, cost, throttleKeys);
  }
}
