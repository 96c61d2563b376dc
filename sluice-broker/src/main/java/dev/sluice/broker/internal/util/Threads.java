package dev.sluice.broker.internal.util;

/** Waits for threads. */
public final class Threads {
  private Threads() {}

  /** Blocks until {@code thread} has ended, despite interrupts; returns at once on that thread. */
  public static void join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive() && thread != Thread.currentThread()) {
      try {
        thread.join();
      } catch (InterruptedException retry) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
