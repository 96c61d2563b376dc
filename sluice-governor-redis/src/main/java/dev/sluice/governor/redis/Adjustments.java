package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.GovernorTimer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a model's provider said, what of it holds, and what Redis was not told: of a level only the
 * last, and a pause only until it is over. For any number of threads.
 */
final class Adjustments {
  private final GovernorTimer timer;

  // Guarded by this. Nothing that takes another lock is called under it: a share begins under one
  // of
  // the link, and asks what is in force.
  private double factor = 1;
  private long last;
  private long known;
  private long unsent;
  private @Nullable Long unsentLevel;
  private boolean paused;
  private long pausedUntil;
  private boolean anyPause;
  private long lastPauseEnds;

  /**
   * One of them, in the order in which they came.
   *
   * @param factorNumber of the one that the factor is of: the last, if it is told late
   */
  record Heard(long number, long factorNumber, Adjustment adjustment, long pausedUntil) {
    /** As the script has them. */
    String[] words() {
      Long most = adjustment.tokensAtMost();
      return new String[] {
        "adjust",
        Double.toString(adjustment.factor()),
        most == null ? "" : Long.toString(most),
        Long.toString(ModelTerms.micros(adjustment.pause())),
        Long.toString(factorNumber)
      };
    }
  }

  Adjustments(GovernorTimer timer) {
    this.timer = timer;
  }

  /** What is heard of late: a newer factor holds. */
  synchronized Adjustment withLastFactor(Adjustment late) {
    return new Adjustment(factor, late.tokensAtMost(), late.pause());
  }

  synchronized Heard hear(Adjustment adjustment) {
    factor = adjustment.factor();
    long ends = timer.now() + adjustment.pause().toNanos();
    if (!anyPause || ends - lastPauseEnds > 0) {
      anyPause = true;
      lastPauseEnds = ends;
    }
    last++;
    return new Heard(last, last, adjustment, ends);
  }

  /**
   * What books have to know that were lost after they were told, except for the level: they begin
   * empty. Null for nothing.
   */
  synchronized @Nullable Heard inForce() {
    long left = anyPause ? Math.max(0, lastPauseEnds - timer.now()) : 0;
    anyPause = left > 0;
    return factor == 1 && left == 0
        ? null
        : new Heard(
            last, last, new Adjustment(factor, null, Duration.ofNanos(left)), lastPauseEnds);
  }

  /** Redis could not be told. */
  synchronized void keep(Heard heard) {
    if (heard.number() > Math.max(known, unsent)) {
      unsent = heard.number();
      unsentLevel = heard.adjustment().tokensAtMost();
    }
    if (!paused || heard.pausedUntil() - pausedUntil > 0) {
      paused = true;
      pausedUntil = heard.pausedUntil();
    }
  }

  /** What is left to be told; null for nothing. */
  synchronized @Nullable Heard unsent() {
    long left = paused ? Math.max(0, pausedUntil - timer.now()) : 0;
    paused = left > 0;
    return unsent == 0 && !paused
        ? null
        : new Heard(
            unsent, last, new Adjustment(factor, unsentLevel, Duration.ofNanos(left)), pausedUntil);
  }

  /** Redis knows it: what came before it is no news. */
  synchronized void told(Heard heard) {
    known = Math.max(known, heard.number());
    if (unsent <= known) {
      unsent = 0;
      unsentLevel = null;
    }
    if (heard.pausedUntil() - pausedUntil >= 0) {
      paused = false;
    }
  }
}
