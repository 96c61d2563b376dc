package dev.sluice.redis.internal.limits;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Tokens that Redis lent to this node.
 *
 * <p>The deadline is checked again after tokens were taken: a thread that was paused meanwhile must
 * not grant tokens that Redis has counted as used. Such tokens are lost.
 */
public final class TokenBlock {
  /** The result of {@link #take} if it takes nothing. */
  public static final long NOTHING = -1;

  private final String id;
  private final String time;
  private final long size;
  private final long deadlineNanos;
  private final AtomicLong left;

  // Of the sweeping thread: the tokens when they were last seen to change.
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

  /** Takes tokens if all are available before the deadline; returns how many are left. */
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

  /** Returns whether to request the next block when {@code tokens} are left. */
  boolean isLow(long tokens) {
    return tokens < size / 2;
  }

  /** Returns whether no tokens were taken for {@code forNanos}; called periodically. */
  boolean isIdle(long nowNanos, long forNanos) {
    long now = left.get();
    if (now != seenLeft) {
      seenLeft = now;
      seenNanos = nowNanos;
    }
    return nowNanos - seenNanos >= forNanos;
  }

  /** Returns whether the deadline is at most {@code nanos} away. */
  boolean endsWithin(long nowNanos, long nanos) {
    return deadlineNanos - nowNanos <= nanos;
  }

  /** Closes the block; returns its unused tokens. */
  public long close() {
    return left.getAndSet(0);
  }
}
