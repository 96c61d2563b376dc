package dev.sluice.broker.internal.hooks;

import dev.sluice.broker.NamePatterns;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Compiles the scripts by which a queue decides where its messages go.
 *
 * <p>Thread-safe. A compiled hook may be called by any number of threads at once; no state survives
 * a call, and every call ends within its budgets of time and memory.
 */
public interface HookEngine {

  /** The argument of {@code on_enqueue}. */
  record EnqueueContext(String queue, Map<String, String> headers, int payloadSize) {}

  /** The argument of {@code on_failure}; {@code attempts} counts the failure at hand. */
  record FailureContext(
      String queue, UUID id, Map<String, String> headers, int attempts, String error) {}

  /** The result of {@code on_enqueue}. */
  record EnqueueResult(String fairnessKey, int weight, List<String> throttleKeys) {
    public static final HookEngine.EnqueueResult DEFAULT =
        new HookEngine.EnqueueResult("default", 1, List.of());

    /**
     * Returns this result if the hook may name its throttle keys.
     *
     * @param patterns of the names that the hook may name
     * @throws HookException if a key matches none of them
     */
    public HookEngine.EnqueueResult requireThrottleKeysIn(List<String> patterns) {
      for (String key : throttleKeys) {
        if (patterns.stream().noneMatch(pattern -> NamePatterns.matches(pattern, key))) {
          throw new HookException(
              "a throttle key of on_enqueue must match one of hookThrottleKeys %s, but was %s"
                  .formatted(patterns, key));
        }
      }
      return this;
    }
  }

  /** The result of {@code on_failure}. */
  sealed interface FailureResult {}

  /** Try again after a while. */
  record Retry(long delayMillis) implements HookEngine.FailureResult {
    public static final Retry AT_ONCE = new Retry(0);
  }

  /** Give up. */
  record MoveToDeadLetters() implements HookEngine.FailureResult {}

  /** A compiled {@code on_enqueue}. */
  interface EnqueueHook {
    /**
     * Runs the script.
     *
     * @param config what {@code sluice.get} reads; does not change during the call
     * @param budget charged with the usage of the script, also if it fails; it refuses no call
     * @throws HookException if the script fails or exceeds the budget of one run
     */
    HookEngine.EnqueueResult run(
        HookEngine.EnqueueContext arrival, Map<String, String> config, HookBudget budget);

    /** Runs the script for a single message. */
    default HookEngine.EnqueueResult run(
        HookEngine.EnqueueContext arrival, Map<String, String> config) {
      return run(arrival, config, new HookBudget());
    }
  }

  /** A compiled {@code on_failure}. */
  interface FailureHook {
    /**
     * Runs the script.
     *
     * @param config what {@code sluice.get} reads; does not change during the call
     * @throws HookException if the script fails or exceeds a budget
     */
    HookEngine.FailureResult run(HookEngine.FailureContext failure, Map<String, String> config);
  }

  /**
   * Compiles a script.
   *
   * @throws HookException if {@code source} does not compile or defines no {@code on_enqueue}
   */
  EnqueueHook compileEnqueue(String source);

  /**
   * Compiles a script.
   *
   * @throws HookException if {@code source} does not compile or defines no {@code on_failure}
   */
  FailureHook compileFailure(String source);
}
