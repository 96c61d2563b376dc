package dev.sluice.internal.util;

/** Computes how long the loser of a race waits before it tries again. */
public final class SpinBackoff {

  /** A microsecond or three: some dozen calls of another thread. */
  private static final int SPINS = 64;

  /** Pauses before a waiting thread gives up its processor: a lock is held for less. */
  private static final int PAUSES = 8;

  private SpinBackoff() {}

  /** Lets the winner of a race go on a few times, instead of passing the cache line to and fro. */
  public static void pause() {
    for (int i = 0; i < SPINS; i++) {
      Thread.onSpinWait();
    }
  }

  /**
   * Waits for a thread that holds a lock for some dozen instructions, but may have been stopped.
   */
  public @SuppressWarnings(
      "ThreadPriorityCheck") // correct without; the holder may need this processor
  static void await(int tries) {
    if (tries < PAUSES) {
      pause();
    } else {
      Thread.yield();
    }
  }
}
