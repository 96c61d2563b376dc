package dev.sluice.governor;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Reduces a budget by what the provider of a model reports. It never lets through more than is
 * configured.
 *
 * @param factor the part of the configured rate and burst that the provider accepts, above 0 and at
 *     most 1
 * @param maxTokens the tokens that the provider has left now; null if unknown
 * @param pause the time from now on in which nothing is granted; zero for no pause
 * @since 0.1
 */
public record ProviderAdjustment(double factor, @Nullable Long maxTokens, Duration pause) {
  private static final Duration MAX_PAUSE = Duration.ofHours(1);

  /** Checks all components. */
  public ProviderAdjustment {
    // The negation also rejects NaN.
    if (!(factor > 0 && factor <= 1)) {
      throw new IllegalArgumentException("factor must be above 0 and at most 1, but was " + factor);
    }
    if (pause.isNegative() || pause.compareTo(MAX_PAUSE) > 0) {
      throw new IllegalArgumentException(
          "pause must be from 0 to %s, but was %s".formatted(MAX_PAUSE, pause));
    }
  }
}
