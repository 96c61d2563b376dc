package dev.sluice.broker.internal.engine;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the bytes of messages that wait in memory for slow consumers, all of them together; the
 * bodies of further messages are dropped and read again when they are polled.
 */
public final class PrefetchBudget {
  private static final long MAX_BYTES = 16L << 20;

  private final AtomicLong used = new AtomicLong();

  /** Returns false, and reserves nothing, if the budget is used up. */
  public boolean tryReserve(long bytes) {
    if (used.addAndGet(bytes) <= MAX_BYTES) {
      return true;
    }
    used.addAndGet(-bytes);
    return false;
  }

  /** Returns {@code delivery} with its body if there is room for it, else without. */
  public PendingDelivery reserve(PendingDelivery delivery) {
    int bytes = delivery.bodyBytes();
    return bytes > 0 && !tryReserve(bytes) ? delivery.withoutBody() : delivery;
  }

  public void release(long bytes) {
    used.addAndGet(-bytes);
  }
}
