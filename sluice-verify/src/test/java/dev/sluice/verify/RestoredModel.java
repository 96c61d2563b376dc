package dev.sluice.verify;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The sequential specification of one key without refill: its tokens, or none that count. */
public class RestoredModel {
  private static final double NO_RATE = -1;

  private @Nullable Long tokens;

  public boolean tryAcquire() {
    if (tokens == null) {
      return true;
    }
    boolean granted = tokens > 0;
    tokens = granted ? tokens - 1 : tokens;
    return granted;
  }

  /** A new key begins full, one that is there keeps what it has. */
  public void setRate(long burst) {
    tokens = tokens == null ? burst : Math.min(tokens, burst);
  }

  /** A new key begins empty. */
  public void restoreRate(long burst) {
    tokens = tokens == null ? 0 : Math.min(tokens, burst);
  }

  public boolean removeRate() {
    boolean found = tokens != null;
    tokens = null;
    return found;
  }

  public double level() {
    return tokens == null ? NO_RATE : (double) tokens;
  }

  /** Equal states let Lincheck skip what it has explored. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RestoredModel model && Objects.equals(tokens, model.tokens);
  }

  @Override
  public int hashCode() {
    return Objects.hashCode(tokens);
  }
}
