package dev.sluice.governor.redis.internal.store;

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

  // Guarded by this. No code that takes another lock is called under it.
  private double factor = 1;
  private long last;
  private boolean behind;
  private boolean paused;
  private long pauseEnds;

  /** An adjustment; numbered, because adjustments may arrive in another order. */
  public record NumberedAdjustment(long number, ProviderAdjustment adjustment) {
    /** Returns the arguments of {@link GovernorScript#CONFIGURE}. */
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

  public synchronized AdjustmentState.NumberedAdjustment add(ProviderAdjustment adjustment) {
    factor = adjustment.factor();
    long ends = timer.nanoTime() + adjustment.pause().toNanos();
    if (!paused || ends - pauseEnds > 0) {
      paused = true;
      pauseEnds = ends;
    }
    return new AdjustmentState.NumberedAdjustment(++last, adjustment);
  }

  /**
   * Returns the adjustment in force, for new state; null if there is none. It has no level of the
   * provider, which is outdated by then.
   */
  public synchronized AdjustmentState.@Nullable NumberedAdjustment inForce() {
    AdjustmentState.NumberedAdjustment present = present();
    return factor == 1 && !paused ? null : present;
  }

  /** Records that an adjustment was not sent. */
  public synchronized void missed() {
    behind = true;
  }

  /** Returns the adjustment in force if Redis has missed one; otherwise null. */
  public synchronized AdjustmentState.@Nullable NumberedAdjustment unconfirmed() {
    return behind ? present() : null;
  }

  private AdjustmentState.NumberedAdjustment present() {
    long left = paused ? Math.max(0, pauseEnds - timer.nanoTime()) : 0;
    paused = left > 0;
    return new AdjustmentState.NumberedAdjustment(
        last, new ProviderAdjustment(factor, null, Duration.ofNanos(left)));
  }

  /** Confirms that Redis has the adjustment that {@link #unconfirmed} returned. */
  public synchronized void confirmed(AdjustmentState.NumberedAdjustment adjustment) {
    behind = behind && adjustment.number() != last;
  }
}
