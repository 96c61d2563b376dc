package dev.sluice.broker.engine;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How many bytes of messages may wait in memory for consumers that are slow to take them, all
 * consumers together; what is beyond is read again when they do.
 */
public final class PrefetchBudget {
  private static final long MAX_BYTES = 16L << 20;

  private final AtomicLong used = new AtomicLong();

  /** False if there is no room. */
  public boolean tryReserve(long bytes) {
    if (used.addAndGet(bytes) <= MAX_BYTES) {
      return true;
    }
    used.addAndGet(-bytes);
    return false;
  }

  /** Returns {@code handover} with its body if there is room for it, else without. */
  public PendingDelivery reserve(PendingDelivery delivery) {
    int bytes = delivery.bodyBytes();
    return bytes > 0 && !tryReserve(bytes) ? delivery.withoutBody() : delivery;
  }

  public void release(long bytes) {
    used.addAndGet(-bytes);
  }
}
