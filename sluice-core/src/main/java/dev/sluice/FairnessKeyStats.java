package dev.sluice;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The state of one fairness key of a {@link FairQueue}.
 *
 * @param fairnessKey the fairness key
 * @param pending items that wait
 * @param inFlight items delivered and not completed, counted while the key has a concurrency limit
 * @param weight its share
 * @param deficit what is left of its turn, over all priorities
 * @param throttled what some of its items wait for
 * @since 0.1
 */
public record FairnessKeyStats(
    String fairnessKey,
    int pending,
    int inFlight,
    int weight,
    long deficit,
    List<FairnessKeyStats.Throttled> throttled) {

  /**
   * Items that wait for a throttle key.
   *
   * @param throttleKey the throttle key that holds them up
   * @param items how many
   * @param nextGrantIn time until that limit grants a waiter; empty if time alone does not do it
   */
  public record Throttled(String throttleKey, int items, Optional<Duration> nextGrantIn) {}
}
