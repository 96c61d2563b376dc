package dev.sluice.redis.internal.limits;

import dev.sluice.NanoClock;
import java.util.function.LongSupplier;

/**
 * The clock of Redis, for a strict bucket of this node: the bucket's grid starts with it, so until
 * it is started the clock stands at the last boundary of the grid that Redis uses.
 */
final class PeriodGridClock implements NanoClock {
  private final LongSupplier serverNanos;
  private final long boundaryNanos;
  private volatile boolean started;

  PeriodGridClock(LongSupplier serverNanos, long periodNanos) {
    this.serverNanos = serverNanos;
    long now = serverNanos.getAsLong();
    this.boundaryNanos = now - Math.floorMod(now, periodNanos);
  }

  void start() {
    started = true;
  }

  @Override
  public long nanoTime() {
    return started ? serverNanos.getAsLong() : boundaryNanos;
  }
}
