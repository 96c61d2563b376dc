package dev.sluice.bench;

/** Whether the compiler has nothing left to gain: a cost has stopped to fall. */
final class Calm {
  private static final int ENOUGH = 2;

  private int triesLeft;
  private int calm;
  private double best = Double.MAX_VALUE;

  Calm(int tries) {
    this.triesLeft = tries;
  }

  /** Says so after one more measurement, or when there were too many. */
  boolean after(double cost) {
    calm = cost > 0.9 * best ? calm + 1 : 0;
    best = Math.min(best, cost);
    triesLeft--;
    return calm >= ENOUGH || triesLeft <= 0;
  }
}
