package dev.sluice.redis.link;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A question to Redis that is answered, or fails, before its deadline.
 *
 * @since 0.1
 */
public final class Call extends CompletableFuture<List<Object>> {
  final long deadlineNanos;

  /** A call that ends by {@code deadlineNanos} at the latest. */
  Call(long deadlineNanos) {
    this.deadlineNanos = deadlineNanos;
  }

  /** The number at a place of an answer. */
  public static long number(List<Object> answer, int index) {
    return (Long) answer.get(index);
  }
}
