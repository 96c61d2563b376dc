package dev.sluice.governor.redis.store;

import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.spi.StoreTimer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The factor and the pause that the provider of a model demands, and whether Redis has them.
 * Thread-safe.
 */
public final class AdjustmentState {
  private final StoreTimer timer;

  // Guarded by this. Nothing that takes another lock is called under it.
  private double factor = 1;
  private long last;
  private boolean behind;
  private boolean paused;
  private long pauseEnds;

  /** One of them; numbered, because Redis may hear of them in another order. */
  public record NumberedAdjustment(long number, ProviderAdjustment adjustment) {
    /** As the script has them. */
    public String[] arguments() {
      Long most = adjustment.maxTokens();
      return new String[] {
        "adjust",
        Double.toString(adjustment.factor()),
        most == null ? "" : Long.toString(most),
        Long.toString(ModelScriptConfig.micros(adjustment.pause())),
        Long.toString(number)
      };
    }
  }

  public AdjustmentState(StoreTimer timer) {
    this.timer = timer;
  }

  public synchronized AdjustmentState.NumberedAdjustment hear(ProviderAdjustment adjustment) {
    factor = adjustment.factor();
    long ends = timer.nanoTime() + adjustment.pause().toNanos();
    if (!paused || ends - pauseEnds > 0) {
      paused = true;
      pauseEnds = ends;
    }
    return new AdjustmentState.NumberedAdjustment(++last, adjustment);
  }

  /**
   * Returns what holds now, for books that do not know it; null for nothing. The level that a
   * provider named is left out: it is out of date by then.
   */
  public synchronized AdjustmentState.@Nullable NumberedAdjustment inForce() {
    AdjustmentState.NumberedAdjustment present = present();
    return factor == 1 && !paused ? null : present;
  }

  /** Redis was not told one of them. */
  public synchronized void missed() {
    behind = true;
  }

  /** Returns what holds now if Redis has missed something; else null. */
  public synchronized AdjustmentState.@Nullable NumberedAdjustment unconfirmed() {
    return behind ? present() : null;
  }

  private AdjustmentState.NumberedAdjustment present() {
    long left = paused ? Math.max(0, pauseEnds - timer.nanoTime()) : 0;
    paused = left > 0;
    return new AdjustmentState.NumberedAdjustment(
        last, new ProviderAdjustment(factor, null, Duration.ofNanos(left)));
  }

  /** Redis knows what {@link #unconfirmed} returned. */
  public synchronized void confirmed(AdjustmentState.NumberedAdjustment heard) {
    behind = behind && heard.number() != last;
  }
}
