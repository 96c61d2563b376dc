package dev.sluice.internal.limits;

import dev.sluice.Decision;
import dev.sluice.internal.bucket.BucketMath;
import dev.sluice.internal.bucket.EpochScale;
import dev.sluice.internal.bucket.UnitScale;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Several buckets to take from at once, all or none; of one thread, for one call.
 *
 * <p>Filled by {@link #addIfAny}, then {@link #order ordered}, then asked.
 */
final class MultiKeyAcquire {
  /*
   * Concurrency. Locks are taken in the order of the buckets' ids, so no circle of threads waits for
   * each other; nothing but arithmetic happens under them. A refusal is decided on the word of one
   * bucket that is not locked, and so at an instant; a grant at the instants between the last lock
   * taken and the first released, in which no other thread can see any of the buckets.
   */

  /** Ciura's gaps: insertion sort for a few keys, and no quadratic surprise for many. */
  private static final int[] GAPS = {701, 301, 132, 57, 23, 10, 4, 1};

  enum Result {
    GRANTED,
    DENIED,
    /** Another bucket has taken or must take the place of {@link #obstacle()}. */
    BLOCKED
  }

  private KeyedBucket[] buckets;
  private long @Nullable [] costs;
  private long cost;
  private int size;
  private int unknown;
  private @Nullable KeyedBucket obstacle;

  /** The full-at that the last grant left in a single bucket. */
  private long granted;

  /** The full-at of each bucket before and after the last grant of several, in turns. */
  private long @Nullable [] words;

  MultiKeyAcquire(int expected) {
    buckets = new KeyedBucket[Math.max(1, expected)];
  }

  /** Adds a claim; a key without a bucket claims nothing. */
  void addIfAny(@Nullable KeyedBucket bucket, long tokens) {
    if (bucket == null) {
      unknown++;
    } else {
      add(bucket, tokens);
    }
  }

  /** Returns how many keys have no rate, and so no bucket. */
  int unknown() {
    return unknown;
  }

  private void add(KeyedBucket bucket, long tokens) {
    if (size == buckets.length) {
      buckets = Arrays.copyOf(buckets, 2 * size);
    }
    if (size == 0) {
      cost = tokens;
    } else if (costs == null && tokens != cost) {
      costs = new long[buckets.length];
      Arrays.fill(costs, 0, size, cost);
    }
    if (costs != null) {
      costs = costs.length < buckets.length ? Arrays.copyOf(costs, buckets.length) : costs;
      costs[size] = tokens;
    }
    buckets[size++] = bucket;
  }

  /** Sorts by id and drops duplicates. */
  void order() {
    for (int g = size > GAPS[GAPS.length - 2] ? 0 : GAPS.length - 1; g < GAPS.length; g++) {
      for (int i = GAPS[g]; i < size; i++) {
        if (buckets[i - GAPS[g]].id > buckets[i].id) {
          sink(i, GAPS[g]);
        }
      }
    }
    for (int i = 1; i < size; i++) {
      if (buckets[i] == buckets[i - 1]) {
        dropRepeated();
        return;
      }
    }
  }

  private void dropRepeated() {
    int kept = 1;
    for (int i = 1; i < size; i++) {
      if (buckets[i] != buckets[kept - 1]) {
        put(kept++, buckets[i], cost(i));
      }
    }
    size = kept;
  }

  private void sink(int from, int gap) {
    KeyedBucket bucket = buckets[from];
    long tokens = cost(from);
    int i = from;
    for (; i >= gap && buckets[i - gap].id > bucket.id; i -= gap) {
      put(i, buckets[i - gap], cost(i - gap));
    }
    put(i, bucket, tokens);
  }

  private void put(int i, KeyedBucket bucket, long tokens) {
    buckets[i] = bucket;
    if (costs != null) {
      costs[i] = tokens;
    }
  }

  private long cost(int i) {
    return costs == null ? cost : costs[i];
  }

  /** Returns the bucket that blocked the last call. */
  KeyedBucket obstacle() {
    return Objects.requireNonNull(obstacle, "obstacle");
  }

  /** Takes from all buckets or from none; if denied, without a write that lasts. */
  MultiKeyAcquire.Result take(long nowNanos) {
    if (size == 1) {
      granted = buckets[0].take(cost(0), nowNanos);
      return outcome(granted, buckets[0]);
    }
    long[] seenAndNext = new long[2 * size];
    words = seenAndNext;
    for (int i = 0; i < size; i++) {
      KeyedBucket bucket = buckets[i];
      long seen = bucket.settledFullAt();
      long next = seen < 0 ? KeyedBucket.MOVED : bucket.outcome(seen, cost(i), nowNanos);
      if (next < 0) {
        return outcome(next, bucket);
      }
      seenAndNext[2 * i] = seen;
      seenAndNext[2 * i + 1] = next;
    }
    return takeAsSeen(seenAndNext)
        ? MultiKeyAcquire.Result.GRANTED
        : takeLocked(seenAndNext, nowNanos);
  }

  /** Takes the tokens in the usual case: the buckets have not changed since the computation. */
  private boolean takeAsSeen(long[] words) {
    int locked = 0;
    int unlocked = 0;
    try {
      while (locked < size && buckets[locked].lockIf(words[2 * locked])) {
        locked++;
      }
      boolean all = locked == size;
      for (; all && unlocked < size; unlocked++) {
        buckets[unlocked].unlockAt(words[2 * unlocked + 1]);
      }
      return all;
    } finally {
      for (; unlocked < locked; unlocked++) {
        buckets[unlocked].unlock();
      }
    }
  }

  private MultiKeyAcquire.Result takeLocked(long[] seenAndNext, long nowNanos) {
    int locked = 0;
    int unlocked = 0;
    try {
      while (locked < size) {
        KeyedBucket bucket = buckets[locked];
        if (!bucket.lock()) {
          return outcome(KeyedBucket.MOVED, bucket);
        }
        MultiKeyAcquire.Result outcome =
            outcome(bucket.outcome(bucket.fullAt(), cost(locked++), nowNanos), bucket);
        if (outcome != MultiKeyAcquire.Result.GRANTED) {
          return outcome;
        }
      }
      for (; unlocked < size; unlocked++) {
        KeyedBucket bucket = buckets[unlocked];
        long next = bucket.outcome(bucket.fullAt(), cost(unlocked), nowNanos);
        seenAndNext[2 * unlocked + 1] = next;
        bucket.unlockAt(next);
      }
      return MultiKeyAcquire.Result.GRANTED;
    } finally {
      for (; unlocked < locked; unlocked++) {
        buckets[unlocked].unlock();
      }
    }
  }

  /** Returns the decision of a {@link #take} that granted. */
  Decision.Granted granted(long nowNanos) {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < size; i++) {
      long fullAt = words == null ? granted : words[2 * i + 1];
      least = Math.min(least, buckets[i].epochScale.availableAt(fullAt, nowNanos));
    }
    return new Decision.Granted(least);
  }

  private MultiKeyAcquire.Result outcome(long code, KeyedBucket bucket) {
    if (code >= 0) {
      return MultiKeyAcquire.Result.GRANTED;
    }
    if (code > KeyedBucket.EXPIRED) {
      return MultiKeyAcquire.Result.DENIED;
    }
    obstacle = bucket;
    return MultiKeyAcquire.Result.BLOCKED;
  }

  /** Returns the decision of all buckets together at one instant; null if blocked. */
  @Nullable Decision decide(long nowNanos) {
    long[] seen = new long[size];
    do {
      for (int i = 0; i < size; i++) {
        seen[i] = buckets[i].settledFullAt();
        if (seen[i] < 0) {
          obstacle = buckets[i];
          return null;
        }
      }
    } while (!isStill(seen));
    MultiKeyAcquire.BindingDecision verdict = new MultiKeyAcquire.BindingDecision(nowNanos);
    for (int i = 0; i < size; i++) {
      verdict.add(buckets[i], seen[i], cost(i));
    }
    return verdict.decision();
  }

  /**
   * Returns whether all words had the given values at one instant: full-at never returns to a
   * value.
   */
  private boolean isStill(long[] seen) {
    for (int i = 0; size > 1 && i < size; i++) {
      if (buckets[i].settledFullAt() != seen[i]) {
        return false;
      }
    }
    return true;
  }

  /** The worst of several answers. */
  private static final class BindingDecision {
    private final long nowNanos;
    private Decision worst = new Decision.Granted(Long.MAX_VALUE);

    BindingDecision(long nowNanos) {
      this.nowNanos = nowNanos;
    }

    void add(KeyedBucket bucket, long fullAt, long tokens) {
      EpochScale epochScale = bucket.epochScale;
      Decision decision =
          epochScale.decision(bucket.key, outcome(epochScale, fullAt, tokens), tokens, nowNanos);
      int difference = weight(decision) - weight(worst);
      if (difference > 0 || (difference == 0 && isTighter(decision, worst))) {
        worst = decision;
      }
    }

    private static boolean isTighter(Decision decision, Decision than) {
      if (decision instanceof Decision.Denied denied && than instanceof Decision.Denied longest) {
        return denied.retryAfterNanos() > longest.retryAfterNanos();
      }
      return decision instanceof Decision.Granted granted
          && than instanceof Decision.Granted least
          && granted.remaining() < least.remaining();
    }

    Decision decision() {
      return worst;
    }

    private long outcome(EpochScale epochScale, long fullAt, long tokens) {
      UnitScale scale = epochScale.scale();
      return BucketMath.take(
          fullAt, epochScale.unitsAt(nowNanos), scale.cost(tokens), scale.capacityUnits());
    }

    private static int weight(Decision decision) {
      if (decision instanceof Decision.Impossible) {
        return 3;
      }
      return decision instanceof Decision.Depleted ? 2 : decision.isGranted() ? 0 : 1;
    }
  }
}
