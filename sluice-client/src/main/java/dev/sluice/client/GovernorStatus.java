package dev.sluice.client;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How the models stand that the caller may use.
 *
 * @param models those that decide, in the order of the budget file
 * @param closed why the others decide nothing, by model: a damaged journal, for example
 * @param timestamp when
 * @since 0.1
 */
public record GovernorStatus(List<Model> models, Map<String, String> closed, Instant timestamp) {
  /** Makes list and map immutable. */
  public GovernorStatus {
    models = List.copyOf(models);
    closed = Map.copyOf(closed);
  }

  /**
   * How a model stands.
   *
   * @param model its name
   * @param capacity the most tokens there are at a time
   * @param available tokens there are now; less than 0 after overuse
   * @param utilizationPct how much of the capacity is in use, in percent with two decimals
   * @param targetTpm tokens that accrue in a minute
   * @param refillRate tokens that accrue in a second
   * @param lastRefill when a decision last found new tokens
   * @param queueLengths those in line, by class in the order of the classes
   * @param running reservations that are not settled
   * @param metrics what was counted
   * @param audit what an independent count says
   * @param provider what the provider made of the budget
   * @param alerts what somebody should look at
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
   * What was counted since the server was started.
   *
   * @param totalRequests all that asked
   * @param acceptedRequests granted at once
   * @param rejectedRequests put in line or refused
   * @param tokensConsumed granted, less what was given back
   * @param refillCount decisions that found new tokens
   */
  public record Counts(
      long totalRequests,
      long acceptedRequests,
      long rejectedRequests,
      long tokensConsumed,
      long refillCount) {}

  /**
   * What an independent count of the granted tokens says.
   *
   * @param admittedTokens in the last window, less what was given back
   * @param limitTokens the most that may be admitted in such a window
   * @param errorTokens by how much the worst window since the start was above the limit; 0 always
   * @param worstTokens the most in any window since the start
   * @param excessTokens what settlements reported and nobody was charged for, since the start
   */
  public record Audit(
      long admittedTokens,
      long limitTokens,
      long errorTokens,
      long worstTokens,
      long excessTokens) {}

  /**
   * What a model's provider made of the budget.
   *
   * @param factor of the configured rate and burst that is in force
   * @param driftTokens ours less theirs, when the provider last said how many it has left
   * @param throttled how often it answered that there were too many
   */
  public record Provider(double factor, long driftTokens, long throttled) {}

  /**
   * Something that somebody should look at.
   *
   * @param kind what it is about, such as {@code QUEUE_BUILDUP}
   * @param value what was measured
   * @param threshold what it must be beyond for this alert
   * @param advice what to do
   * @param since when it was first so
   */
  public record Alert(String kind, double value, double threshold, String advice, Instant since) {}
}
