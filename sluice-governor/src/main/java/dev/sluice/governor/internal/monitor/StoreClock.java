package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.spi.StoreTimer;
import java.util.concurrent.TimeUnit;

/**
 * Converts a store's time to this process's clock: the same for a store in this process, with an
 * offset for others. Thread-safe.
 */
public final class StoreClock {
  /** The delay beyond which one of the clocks must have been set. */
  private static final long JUMP_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final StoreTimer timer;

  // Guarded by this.
  private long ahead;

  public StoreClock(StoreTimer timer) {
    this.timer = timer;
  }

  /** Converts the time of an event that has just happened. */
  public synchronized long present(long storeNanos) {
    long here = timer.nanoTime();
    if (Math.abs(here - storeNanos - ahead) > JUMP_NANOS) {
      ahead = here - storeNanos;
    }
    return storeNanos + ahead;
  }

  /** Converts the time of an earlier event. */
  public synchronized long past(long storeNanos) {
    return storeNanos + ahead;
  }
}
