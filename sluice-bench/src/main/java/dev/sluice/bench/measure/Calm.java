package dev.sluice.bench.measure;

/** Whether the compiler has nothing left to gain: a cost has stopped to fall. */
public final class Calm {
  private static final int ENOUGH = 2;

  private final int least;
  private final int most;
  private int tries;
  private int calm;
  private double best = Double.MAX_VALUE;

  /** Takes so many measurements at the least and at the most. */
  public Calm(int least, int most) {
    this.least = least;
    this.most = most;
  }

  /** Says so after one more measurement, or when there were too many. */
  public boolean after(double cost) {
    calm = cost > 0.9 * best ? calm + 1 : 0;
    best = Math.min(best, cost);
    tries++;
    return tries >= most || (tries >= least && calm >= ENOUGH);
  }
}
