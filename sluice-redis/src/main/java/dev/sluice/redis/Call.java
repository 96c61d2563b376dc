package dev.sluice.redis;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A question to Redis that is answered, or fails, before its deadline. */
final class Call extends CompletableFuture<List<Object>> {
  final long deadlineNanos;

  Call(long deadlineNanos) {
    this.deadlineNanos = deadlineNanos;
  }

  static long number(List<Object> answer, int index) {
    return (Long) answer.get(index);
  }
}
