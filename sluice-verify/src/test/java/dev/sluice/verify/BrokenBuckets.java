package dev.sluice.verify;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Buckets that are right as long as one thread uses them, each with one mistake beyond that.
 *
 * <p>They hold Balanced limits of whole nanoseconds per token.
 */
final class BrokenBuckets {
  private BrokenBuckets() {}

  private static long nanosPerToken(Limit limit) {
    Limit.Balanced balanced = (Limit.Balanced) limit;
    return balanced.refillPeriod().toNanos() / balanced.refillTokens();
  }

  /** Reads, decides and writes; what others write in between is lost. */
  static final class LosesUpdates implements Bucket {
    private final NanoClock clock;
    private final long costNanos;
    private final long capacityNanos;
    private volatile long fullAt;

    LosesUpdates(Limit limit, long initialTokens, NanoClock clock) {
      this.clock = clock;
      this.costNanos = nanosPerToken(limit);
      this.capacityNanos = limit.capacity() * costNanos;
      this.fullAt = capacityNanos - initialTokens * costNanos;
    }

    @Override
    public boolean tryAcquire(long tokens) {
      long nowNanos = clock.nanoTime();
      long next = Math.max(fullAt, nowNanos) + tokens * costNanos;
      if (next - nowNanos > capacityNanos) {
        return false;
      }
      fullAt = next;
      return true;
    }
  }

  /** Takes a reading earlier than the last one for one that has wrapped around: much later. */
  static final class MintsOnLateReadings implements Bucket {
    /** As wide as the time stamp of a word that is shared with the tokens. */
    private static final long TIME_MASK = 0xffff_ffffL;

    private record Level(long units, long atNanos) {}

    private final NanoClock clock;
    private final long costNanos;
    private final long capacityNanos;
    private final AtomicReference<Level> level;

    MintsOnLateReadings(Limit limit, long initialTokens, NanoClock clock) {
      this.clock = clock;
      this.costNanos = nanosPerToken(limit);
      this.capacityNanos = limit.capacity() * costNanos;
      this.level = new AtomicReference<>(new Level(initialTokens * costNanos, 0));
    }

    @Override
    public boolean tryAcquire(long tokens) {
      long nowNanos = clock.nanoTime();
      for (; ; ) {
        Level seen = level.get();
        long minted = (nowNanos - seen.atNanos) & TIME_MASK;
        long left = Math.min(capacityNanos, seen.units + minted) - tokens * costNanos;
        if (left < 0) {
          return false;
        }
        if (level.compareAndSet(seen, new Level(left, nowNanos))) {
          return true;
        }
      }
    }
  }

  /** Changes its limit without sealing the old state: what is granted from that is forgotten. */
  static final class ForgetsGrantsOnChange implements Bucket {
    private record Cell(long costNanos, long capacityNanos, AtomicLong fullAt) {}

    private final NanoClock clock;
    private final AtomicReference<Cell> live;

    ForgetsGrantsOnChange(Limit limit, long initialTokens, NanoClock clock) {
      this.clock = clock;
      this.live = new AtomicReference<>(cell(limit, initialTokens * nanosPerToken(limit), 0));
    }

    private static Cell cell(Limit limit, long units, long nowNanos) {
      long costNanos = nanosPerToken(limit);
      long capacityNanos = limit.capacity() * costNanos;
      long fullAt = nowNanos + capacityNanos - Math.min(capacityNanos, units);
      return new Cell(costNanos, capacityNanos, new AtomicLong(fullAt));
    }

    @Override
    public boolean tryAcquire(long tokens) {
      long nowNanos = clock.nanoTime();
      Cell cell = live.get();
      for (; ; ) {
        long seen = cell.fullAt.get();
        long next = Math.max(seen, nowNanos) + tokens * cell.costNanos;
        if (next - nowNanos > cell.capacityNanos) {
          return false;
        }
        if (cell.fullAt.compareAndSet(seen, next)) {
          return true;
        }
      }
    }

    @Override
    public void reconfigure(Limit limit) {
      long nowNanos = clock.nanoTime();
      Cell cell = live.get();
      long debt = Math.max(0, cell.fullAt.get() - nowNanos);
      live.set(cell(limit, cell.capacityNanos - debt, nowNanos));
    }
  }
}
