package dev.sluice;

/** How long the loser of a race stands back before it tries again. */
final class BackOff {

  /** A microsecond or three: some dozen calls of another thread. */
  private static final int SPINS = 64;

  private BackOff() {}

  /** Lets whoever won the race go on a few times; without it, two threads mostly pass the line. */
  static void pause() {
    for (int i = 0; i < SPINS; i++) {
      Thread.onSpinWait();
    }
  }
}
