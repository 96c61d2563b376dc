package dev.sluice.governor.monitor;

import dev.sluice.governor.spi.StoreTimer;
import java.util.concurrent.TimeUnit;

/**
 * The time of a store by this process's clock: that of one in this process is the same, that of
 * others runs beside it. For any number of threads.
 */
public final class StoreClock {
  /** No store tells of anything so late: one of the clocks has been set. */
  private static final long JUMP_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final StoreTimer timer;

  // Guarded by this.
  private long ahead;

  public StoreClock(StoreTimer timer) {
    this.timer = timer;
  }

  /** Of something that has just happened. */
  public synchronized long present(long storeNanos) {
    long here = timer.nanoTime();
    if (Math.abs(here - storeNanos - ahead) > JUMP_NANOS) {
      ahead = here - storeNanos;
    }
    return storeNanos + ahead;
  }

  /** Of something that happened before that. */
  public synchronized long past(long storeNanos) {
    return storeNanos + ahead;
  }
}
