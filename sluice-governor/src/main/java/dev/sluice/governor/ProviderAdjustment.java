package dev.sluice.governor;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is known better than the configuration says. It only ever takes away: nothing here lets
 * through more than what is configured.
 *
 * @param factor of the configured rate and burst that the provider takes, above 0 and at most 1
 * @param tokensAtMost what the provider has left now; null if it does not say
 * @param pause nothing is granted for so long from now; zero for no pause
 * @since 0.1
 */
public record ProviderAdjustment(double factor, @Nullable Long tokensAtMost, Duration pause) {
  private static final Duration LONGEST_PAUSE = Duration.ofHours(1);

  /** Checks every part. */
  public ProviderAdjustment {
    // Also false for what is no number.
    if (!(factor > 0 && factor <= 1)) {
      throw new IllegalArgumentException("factor must be above 0 and at most 1: " + factor);
    }
    if (pause.isNegative() || pause.compareTo(LONGEST_PAUSE) > 0) {
      throw new IllegalArgumentException(
          "pause must be from 0 to %s: %s".formatted(LONGEST_PAUSE, pause));
    }
  }
}
