package dev.sluice.broker;

import static dev.sluice.broker.internal.util.Checks.requireBetween;
import static dev.sluice.broker.internal.util.Checks.requireDuration;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Checks the values of a {@link QueueConfig}. */
final class QueueConfigChecks {
  private QueueConfigChecks() {}

  /**
   * Checks all values.
   *
   * @throws IllegalArgumentException if one is out of range
   */
  static void requireValid(QueueConfig config) {
    requireDuration(
        "leaseTimeout",
        config.leaseTimeout(),
        QueueConfig.MIN_LEASE_TIMEOUT,
        QueueConfig.MAX_LEASE_TIMEOUT);
    requireHook("onEnqueue", config.onEnqueue());
    config.hookThrottleKeys().forEach(NamePatterns::requireValid);
    requireHook("onFailure", config.onFailure());
    requireBetween("maxAttempts", config.maxAttempts(), 0, Integer.MAX_VALUE);
    requireRetryDelays(config.retryDelay(), config.maxRetryDelay());
    requireBetween("maxDepth", config.maxDepth(), 0, Long.MAX_VALUE);
    requireBetween("maxDepthPerKey", config.maxDepthPerKey(), 0, Long.MAX_VALUE);
    requireBetween("maxInFlightPerKey", config.maxInFlightPerKey(), 0, Integer.MAX_VALUE);
    requireDuration("timeToLive", config.timeToLive(), Duration.ZERO, QueueConfig.MAX_DURATION);
    requireDuration("dedupeWindow", config.dedupeWindow(), Duration.ZERO, QueueConfig.MAX_DURATION);
  }

  private static void requireHook(String name, @Nullable String source) {
    if (source != null) {
      int bytes = source.getBytes(StandardCharsets.UTF_8).length;
      requireBetween("bytes of " + name, bytes, 1, QueueConfig.MAX_HOOK_BYTES);
    }
  }

  private static void requireRetryDelays(Duration first, Duration longest) {
    requireDuration("maxRetryDelay", longest, Duration.ZERO, QueueConfig.MAX_RETRY_DELAY);
    requireDuration("retryDelay", first, Duration.ZERO, QueueConfig.MAX_RETRY_DELAY);
    if (first.compareTo(longest) > 0) {
      throw new IllegalArgumentException(
          "retryDelay must be at most maxRetryDelay: retryDelay=%s, maxRetryDelay=%s"
              .formatted(first, longest));
    }
  }
}
