package dev.sluice;

import java.util.function.Supplier;

/**
 * A clock whose next reading a thread replaces with a stale one or one that runs ahead. Calls read
 * the clock first for themselves, and again when they serve other callers.
 */
final class ReplaceableClock implements NanoClock {
  private final NanoClock clock;
  private final ThreadLocal<Long> replacement = new ThreadLocal<>();

  ReplaceableClock(NanoClock clock) {
    this.clock = clock;
  }

  @Override
  public long nanoTime() {
    Long nanos = replacement.get();
    replacement.remove();
    return nanos == null ? clock.nanoTime() : nanos;
  }

  /** Makes {@code call} on this thread, to which the clock first shows {@code nanos}. */
  <T> T at(long nanos, Supplier<T> call) {
    replacement.set(nanos);
    try {
      return call.get();
    } finally {
      replacement.remove();
    }
  }
}
