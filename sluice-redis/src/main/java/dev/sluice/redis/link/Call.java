package dev.sluice.redis.link;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A question to Redis that is answered, or fails, before its deadline.
 *
 * @since 0.1
 */
public final class Call extends CompletableFuture<List<Object>> {
  /** Of a call that an outage does not end. */
  static final int PROBE = -1;

  final long deadlineNanos;

  /** How often Redis had been lost when it was made, or {@link #PROBE}. */
  private final int losses;

  Call(long deadlineNanos, int losses) {
    this.deadlineNanos = deadlineNanos;
    this.losses = losses;
  }

  /** Whether Redis was lost since: what it answers then comes too late. */
  boolean isOutdated(int lossesNow) {
    return losses != PROBE && losses != lossesNow;
  }

  /** The number at a place of an answer. */
  public static long number(List<Object> answer, int index) {
    return (Long) answer.get(index);
  }
}
