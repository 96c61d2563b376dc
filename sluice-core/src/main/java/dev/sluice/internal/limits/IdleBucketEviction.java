package dev.sluice.internal.limits;

import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Walks through the buckets a few steps at a time, as new ones come, so that idle ones go.
 *
 * <p>Thread-safe; a thread that finds another one at work leaves it to that one.
 */
final class IdleBucketEviction {
  /** Buckets looked at for each one made: a walk ends before the map has grown by much. */
  private static final int STRIDE = 16;

  /** A walk through a map that once was so much larger is paid by as many new buckets. */
  private static final int WALKS_PER_PEAK = 8;

  /** The number of buckets below which a walk is not worthwhile. */
  private static final int FEW = 64;

  /** Full for so long: a bucket in use every second is not evicted only to be made again. */
  private static final long IDLE_NANOS = 1_000_000_000;

  /** Evicts a bucket of a template if it is full at {@code nowNanos}. */
  @FunctionalInterface
  interface BucketRemover {
    boolean evictIfIdle(KeyedBucket bucket, long nowNanos);
  }

  private final ConcurrentHashMap<String, KeyedBucket> buckets;
  private final IdleBucketEviction.BucketRemover evictor;
  private final ReentrantLock turn = new ReentrantLock();

  // Guarded by turn.
  private @Nullable Iterator<KeyedBucket> place;
  private long madeSinceWalk;

  /** The most buckets seen: a walk passes the table, which never shrinks. */
  private long peak;

  IdleBucketEviction(
      ConcurrentHashMap<String, KeyedBucket> buckets, IdleBucketEviction.BucketRemover evictor) {
    this.buckets = buckets;
    this.evictor = evictor;
  }

  /** Goes on a little, because a bucket was made. */
  void step(long nowNanos) {
    if (turn.tryLock()) {
      try {
        walk(nowNanos);
      } finally {
        turn.unlock();
      }
    }
  }

  private void walk(long nowNanos) {
    Iterator<KeyedBucket> rest = place;
    if (rest == null) {
      if (++madeSinceWalk < Math.max(FEW, peak / WALKS_PER_PEAK)) {
        return;
      }
      madeSinceWalk = 0;
      peak = Math.max(peak, buckets.mappingCount());
      rest = buckets.values().iterator();
    }
    for (int i = 0; i < STRIDE && rest.hasNext(); i++) {
      evictor.evictIfIdle(rest.next(), nowNanos - IDLE_NANOS);
    }
    place = rest.hasNext() ? rest : null;
  }

  /** Looks at every bucket at once, for none that is not full; how many went. */
  long all(long nowNanos) {
    long evicted = 0;
    for (KeyedBucket bucket : buckets.values()) {
      evicted += evictor.evictIfIdle(bucket, nowNanos) ? 1 : 0;
    }
    return evicted;
  }
}
