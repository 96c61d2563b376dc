package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * A slow model of what a scheduler may and must do: every question goes over all items.
 *
 * <p>It does not choose; it knows which items could go, and when.
 */
final class SchedulerModel {
  /** Rates are multiples of a half, so one nanosecond mints whole units. */
  private static final long UNITS_PER_TOKEN = 2_000_000_000L;

  static final long NEVER = Long.MAX_VALUE;

  /** An item that waits. */
  record Item(int id, String queue, String key, int priority, Map<String, Long> tokens) {
    boolean isBehind(Item other, boolean strict) {
      return other.id < id
          && other.queue.equals(queue)
          && other.key.equals(key)
          && other.priority == priority
          && (strict || other.tokens.keySet().equals(tokens.keySet()));
    }
  }

  private static final class Bucket {
    private long halvesPerSecond;
    private long capacity;
    private long level;
  }

  private final boolean strict;
  private final List<Item> waiting = new ArrayList<>();
  private final Map<String, Bucket> buckets = new TreeMap<>();
  private final Map<String, Long> credits = new HashMap<>();
  private final Map<String, Integer> limits = new HashMap<>();
  private final Map<String, Integer> inFlight = new HashMap<>();
  private long nowNanos;

  SchedulerModel(boolean strict) {
    this.strict = strict;
  }

  void advance(long nanos) {
    nowNanos += nanos;
    for (Bucket bucket : buckets.values()) {
      bucket.level = Math.min(bucket.capacity, bucket.level + nanos * bucket.halvesPerSecond);
    }
  }

  long nowNanos() {
    return nowNanos;
  }

  void setRate(String name, double perSecond, long burst) {
    Bucket bucket = buckets.get(name);
    boolean fresh = bucket == null;
    if (bucket == null) {
      bucket = new Bucket();
      buckets.put(name, bucket);
    }
    bucket.halvesPerSecond = Math.round(2 * perSecond);
    bucket.capacity = burst * UNITS_PER_TOKEN;
    bucket.level = fresh ? bucket.capacity : Math.min(bucket.level, bucket.capacity);
    bucket.level -= bucket.level % step(bucket.halvesPerSecond);
  }

  /** Rounds a level under a rate: against the caller, by less than a nanosecond. */
  private static long step(long halvesPerSecond) {
    return BigInteger.valueOf(halvesPerSecond).gcd(BigInteger.valueOf(UNITS_PER_TOKEN)).longValue();
  }

  /** Raises the level of a key to {@code tokens}, because tokens were returned. */
  void setLevel(String name, double tokens) {
    Bucket bucket = Objects.requireNonNull(buckets.get(name));
    long level = Math.round(tokens * UNITS_PER_TOKEN);
    assertThat(level).isBetween(bucket.level, bucket.capacity);
    bucket.level = level;
  }

  void removeRate(String name) {
    buckets.remove(name);
  }

  void setCredit(String queue, long credit) {
    credits.put(queue, credit);
  }

  void setLimit(String queue, String key, int limit) {
    limits.put(queue + "/" + key, limit);
  }

  boolean isLimited(String queue, String key) {
    return limits.getOrDefault(queue + "/" + key, Integer.MAX_VALUE) < Integer.MAX_VALUE;
  }

  void add(Item item) {
    waiting.add(item);
  }

  void remove(Item item) {
    waiting.remove(item);
  }

  List<Item> waiting() {
    return waiting;
  }

  /** Takes what the item needs; it must be able to go. */
  void deliver(Item item, boolean occupies) {
    waiting.remove(item);
    item.tokens.forEach(
        (name, tokens) -> {
          Bucket bucket = buckets.get(name);
          if (bucket != null) {
            bucket.level -= tokens * UNITS_PER_TOKEN;
          }
        });
    credits.computeIfPresent(item.queue, (queue, credit) -> credit - 1);
    if (occupies) {
      inFlight.merge(item.queue + "/" + item.key, 1, Integer::sum);
    }
  }

  void complete(String queue, String key) {
    inFlight.merge(queue + "/" + key, -1, Integer::sum);
  }

  /** Returns whether the item has credit and a slot, and is the first of its key. */
  boolean isEligible(Item item) {
    String slot = item.queue + "/" + item.key;
    return credits.getOrDefault(item.queue, Long.MAX_VALUE) > 0
        && inFlight.getOrDefault(slot, 0) < limits.getOrDefault(slot, Integer.MAX_VALUE)
        && waiting.stream().noneMatch(other -> item.isBehind(other, strict));
  }

  /** Returns the nanoseconds until the buckets hold the item's tokens, if none are taken. */
  long nanosUntil(Item item) {
    long longest = 0;
    for (Map.Entry<String, Long> need : item.tokens.entrySet()) {
      Bucket bucket = buckets.get(need.getKey());
      if (bucket != null) {
        longest = Math.max(longest, nanosUntil(bucket, need.getValue() * UNITS_PER_TOKEN));
      }
    }
    return longest;
  }

  private static long nanosUntil(Bucket bucket, long units) {
    long missing = units - bucket.level;
    if (missing <= 0) {
      return 0;
    }
    return units > bucket.capacity || bucket.halvesPerSecond == 0
        ? NEVER
        : -Math.floorDiv(-missing, bucket.halvesPerSecond);
  }

  boolean canGo(Item item) {
    return isEligible(item) && nanosUntil(item) == 0;
  }

  double level(String name) {
    Bucket bucket = buckets.get(name);
    return bucket == null ? Double.NaN : (double) bucket.level / UNITS_PER_TOKEN;
  }

  boolean hasRate(String name) {
    return buckets.containsKey(name);
  }
}
