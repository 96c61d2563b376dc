package dev.sluice.redis.limits;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Tokens that Redis lent to this node.
 *
 * <p>The deadline is looked at again after tokens were taken: a thread that was paused between may
 * not grant what Redis has counted as used. Such tokens are lost.
 */
public final class TokenBlock {
  /** What {@link #take} answers when it takes nothing. */
  public static final long NOTHING = -1;

  private final String id;
  private final String time;
  private final long size;
  private final long deadlineNanos;
  private final AtomicLong left;

  // Of the one who looks after it: what was left when it was last seen to change.
  private long seenLeft;
  private long seenNanos;

  public TokenBlock(
      String id, String time, long tokens, long size, long nowNanos, long deadlineNanos) {
    this.id = id;
    this.time = time;
    this.size = size;
    this.deadlineNanos = deadlineNanos;
    this.left = new AtomicLong(tokens);
    this.seenLeft = tokens;
    this.seenNanos = nowNanos;
  }

  String id() {
    return id;
  }

  /** Returns the time in which it was lent, as {@code FleetConnection.allPresent} names it. */
  String time() {
    return time;
  }

  /** Takes tokens, if all are there in time; how many are left then. */
  public long take(long tokens, LongSupplier clock) {
    if (isOver(clock.getAsLong())) {
      return NOTHING;
    }
    long before = left.get();
    while (before >= tokens) {
      if (left.compareAndSet(before, before - tokens)) {
        return isOver(clock.getAsLong()) ? NOTHING : before - tokens;
      }
      before = left.get();
    }
    return NOTHING;
  }

  private boolean isOver(long nowNanos) {
    return deadlineNanos - nowNanos <= 0;
  }

  boolean has(long tokens, long nowNanos) {
    return !isOver(nowNanos) && left.get() >= tokens;
  }

  /** Whether it is time for the next block if so many tokens are left. */
  boolean isLow(long tokens) {
    return tokens < size / 2;
  }

  /** Whether nobody took anything for so long; asked from time to time. */
  boolean isIdle(long nowNanos, long forNanos) {
    long now = left.get();
    if (now != seenLeft) {
      seenLeft = now;
      seenNanos = nowNanos;
    }
    return nowNanos - seenNanos >= forNanos;
  }

  /** Whether so much of its time or less is left. */
  boolean endsWithin(long nowNanos, long nanos) {
    return deadlineNanos - nowNanos <= nanos;
  }

  /** Nothing is taken from now on; what was left. */
  public long close() {
    return left.getAndSet(0);
  }
}
