package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.GovernorTimer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What the provider of a model said: the factor and the pause in force, and whether Redis knows
 * them. Thread-safe.
 */
final class Adjustments {
  private final GovernorTimer timer;

  // Guarded by this. Nothing that takes another lock is called under it.
  private double factor = 1;
  private long last;
  private boolean behind;
  private boolean paused;
  private long pauseEnds;

  /** One of them; numbered, because Redis may hear of them in another order. */
  record Heard(long number, Adjustment adjustment) {
    /** As the script has them. */
    String[] words() {
      Long most = adjustment.tokensAtMost();
      return new String[] {
        "adjust",
        Double.toString(adjustment.factor()),
        most == null ? "" : Long.toString(most),
        Long.toString(ModelTerms.micros(adjustment.pause())),
        Long.toString(number)
      };
    }
  }

  Adjustments(GovernorTimer timer) {
    this.timer = timer;
  }

  synchronized Heard hear(Adjustment adjustment) {
    factor = adjustment.factor();
    long ends = timer.now() + adjustment.pause().toNanos();
    if (!paused || ends - pauseEnds > 0) {
      paused = true;
      pauseEnds = ends;
    }
    return new Heard(++last, adjustment);
  }

  /**
   * Returns what holds now, for books that do not know it; null for nothing. The level that a
   * provider named is left out: it is out of date by then.
   */
  synchronized @Nullable Heard inForce() {
    Heard present = present();
    return factor == 1 && !paused ? null : present;
  }

  /** Redis was not told one of them. */
  synchronized void missed() {
    behind = true;
  }

  /** Returns what holds now if Redis has missed something; else null. */
  synchronized @Nullable Heard unconfirmed() {
    return behind ? present() : null;
  }

  private Heard present() {
    long left = paused ? Math.max(0, pauseEnds - timer.now()) : 0;
    paused = left > 0;
    return new Heard(last, new Adjustment(factor, null, Duration.ofNanos(left)));
  }

  /** Redis knows what {@link #unconfirmed} returned. */
  synchronized void confirmed(Heard heard) {
    behind = behind && heard.number() != last;
  }
}
