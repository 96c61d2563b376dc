package dev.sluice.testkit;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what another process does. */
final class Await {
  private static final long POLL_MILLIS = 5;

  private Await() {}

  /** Returns once the condition holds; a fault after the limit says what was awaited. */
  static void until(Supplier<String> what, Duration limit, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > limit.toNanos()) {
        throw new IllegalStateException("not within " + limit + ": " + what.get());
      }
      pause();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for another process", e);
    }
  }
}
