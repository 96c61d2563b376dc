package dev.sluice.client;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The state of the governor's models.
 *
 * @param models the models that decide, by name, in the order of the budget file
 * @param closed models that decide nothing, by name, with the reason: a damaged journal, for
 *     example
 * @param timestamp when the server took this snapshot
 * @since 0.1
 */
public record GovernorStatus(
    Map<String, Model> models, Map<String, String> closed, Instant timestamp) {
  /** Makes the maps immutable and keeps the order of the models. */
  public GovernorStatus {
    models = Collections.unmodifiableMap(new LinkedHashMap<>(models));
    closed = Map.copyOf(closed);
  }

  /**
   * The state of one model.
   *
   * @param model the model's name
   * @param capacity the most tokens the budget can hold
   * @param available tokens available now; negative after overuse
   * @param utilizationPct the used part of the capacity, in percent with two decimals
   * @param targetTpm tokens that accrue per minute
   * @param refillRate tokens that accrue per second
   * @param lastRefill when a decision last found new tokens
   * @param queueLengths waiting requests by priority class, in the order of the classes
   * @param running reservations that are not settled
   * @param metrics counters
   * @param audit the result of counting granted tokens independently
   * @param provider the effect of the provider's feedback
   * @param alerts conditions that need attention
   */
  public record Model(
      String model,
      long capacity,
      long available,
      String utilizationPct,
      long targetTpm,
      double refillRate,
      Instant lastRefill,
      Map<String, Integer> queueLengths,
      int running,
      Counts metrics,
      Audit audit,
      Provider provider,
      List<Alert> alerts) {
    /** Keeps the order of the classes. */
    public Model {
      queueLengths = Collections.unmodifiableMap(new LinkedHashMap<>(queueLengths));
      alerts = List.copyOf(alerts);
    }
  }

  /**
   * Counters since the server was started.
   *
   * @param totalRequests all requests
   * @param acceptedRequests requests that were granted at once
   * @param rejectedRequests requests that were queued, denied or impossible
   * @param tokensConsumed granted tokens, less the refunded ones
   * @param refillCount decisions that found new tokens
   */
  public record Counts(
      long totalRequests,
      long acceptedRequests,
      long rejectedRequests,
      long tokensConsumed,
      long refillCount) {}

  /**
   * The result of counting the granted tokens independently of the budget.
   *
   * @param admittedTokens tokens of the last window, less the refunded ones
   * @param limitTokens the most tokens that a window may admit
   * @param errorTokens tokens by which the worst window exceeded the limit; always 0
   * @param worstTokens the most tokens of any window since the start
   * @param excessTokens tokens that settlements reported and that were not charged, since the start
   */
  public record Audit(
      long admittedTokens,
      long limitTokens,
      long errorTokens,
      long worstTokens,
      long excessTokens) {}

  /**
   * The effect of the provider's feedback on a model's budget.
   *
   * @param factor the part of the configured rate and burst that is in force, up to 1
   * @param driftTokens the governor's available tokens less the provider's, at the last feedback
   * @param throttled the number of feedbacks with status 429
   */
  public record Provider(double factor, long driftTokens, long throttled) {}

  /**
   * A condition that needs attention.
   *
   * @param kind the kind of alert, such as {@code QUEUE_BUILDUP}
   * @param value the measured value
   * @param threshold the value that raises the alert
   * @param advice what to do
   * @param since when the alert was raised
   */
  public record Alert(String kind, double value, double threshold, String advice, Instant since) {}
}
