package dev.sluice.governor;

import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The state of all models.
 *
 * @param models each model that decides, by its name
 * @param closed the reason for each model that decides nothing, by its name; see {@link
 *     Governor#closedModels}
 * @param timestamp the time of this state
 * @since 0.1
 */
public record GovernorStatus(
    Map<String, Model> models, Map<String, String> closed, Instant timestamp) {
  /** Copies the maps; keeps the order of the models. */
  public GovernorStatus {
    models = Collections.unmodifiableMap(new LinkedHashMap<>(models));
    closed = Collections.unmodifiableMap(new LinkedHashMap<>(closed));
  }

  /**
   * Returns the alerts of all models.
   *
   * @return in the order of the models
   */
  public List<Alert> alerts() {
    return models.values().stream().flatMap(each -> each.alerts().stream()).toList();
  }

  /**
   * The state of a model.
   *
   * @param model its name
   * @param capacity the most tokens at a time
   * @param available the tokens left; negative after overuse
   * @param targetTpm the tokens that accrue in a minute
   * @param lastRefill the last time that a decision found new tokens
   * @param queueLengths the number of waiting requests, by class
   * @param running the reservations that are not settled
   * @param counts totals since the model was opened
   * @param audit the result of an independent count
   * @param provider the effect of the provider's responses
   * @param exhaustion the head of the waiting list, if the model's own budget cannot serve it
   * @param alerts the conditions that need attention
   */
  public record Model(
      String model,
      long capacity,
      long available,
      long targetTpm,
      Instant lastRefill,
      Map<String, Integer> queueLengths,
      int running,
      Counts counts,
      Audit audit,
      Provider provider,
      Optional<Exhaustion> exhaustion,
      List<Alert> alerts) {
    private static final double MINUTE_SECONDS = 60;

    /** Copies the collections; keeps the order of the classes. */
    public Model {
      queueLengths = Collections.unmodifiableMap(new LinkedHashMap<>(queueLengths));
      alerts = List.copyOf(alerts);
    }

    /**
     * Returns the part of the capacity that is in use.
     *
     * @return in percent, with two decimals
     */
    public String utilizationPct() {
      return String.format(Locale.ROOT, "%.2f", 100.0 * (capacity - available) / capacity);
    }

    /**
     * Returns the tokens that accrue in a second.
     *
     * @return the configured rate
     */
    public double refillRate() {
      return targetTpm / MINUTE_SECONDS;
    }

    /**
     * Returns the same state with what the governor adds to the store's.
     *
     * @param count replaces the audit
     * @param effect replaces the provider
     * @param present replaces the alerts
     * @return a copy
     */
    public Model with(Audit count, Provider effect, List<Alert> present) {
      return new Model(
          model,
          capacity,
          available,
          targetTpm,
          lastRefill,
          queueLengths,
          running,
          counts,
          count,
          effect,
          exhaustion,
          present);
    }
  }

  /**
   * Totals of a model since it was opened.
   *
   * @param totalRequests all requests
   * @param acceptedRequests the requests that were granted at once
   * @param rejectedRequests the requests that were queued or denied
   * @param tokensConsumed the granted tokens less those that were returned
   * @param refillCount the decisions that found new tokens
   */
  public record Counts(
      long totalRequests,
      long acceptedRequests,
      long rejectedRequests,
      long tokensConsumed,
      long refillCount) {}

  /**
   * The result of an independent count of the granted tokens.
   *
   * @param admittedTokens the tokens granted in the last window, less those that were returned
   * @param limitTokens the most that may be granted in such a window
   * @param errorTokens the excess of the worst window since the start over the limit, over the
   *     whole fleet where the store counts it; always 0
   * @param worstTokens the most in any window since the start
   * @param excessTokens the tokens that settlements have reported and that were not charged, since
   *     the start
   */
  public record Audit(
      long admittedTokens,
      long limitTokens,
      long errorTokens,
      long worstTokens,
      long excessTokens) {
    /** The result before anything was counted. */
    public static final Audit NONE = new Audit(0, 0, 0, 0, 0);

    /**
     * Returns this with the larger error: the store of a fleet counts grants of other processes
     * too.
     *
     * @param ofStore the count of the store
     * @return a copy
     */
    public Audit orMore(Audit ofStore) {
      return new Audit(
          admittedTokens,
          limitTokens,
          Math.max(errorTokens, ofStore.errorTokens),
          worstTokens,
          excessTokens);
    }
  }

  /**
   * The effect of a provider's responses on the budget.
   *
   * @param factor the part of the configured rate and burst that is in force
   * @param driftTokens the governor's remaining tokens less the provider's, at the provider's last
   *     report
   * @param throttled the number of responses that reported too many requests
   */
  public record Provider(double factor, long driftTokens, long throttled) {
    /** The state before the first response. */
    public static final Provider UNKNOWN = new Provider(1, 0, 0);
  }

  /**
   * A head of the waiting list that the model's own budget cannot serve.
   *
   * @param dimension {@link BudgetDimension#TOKENS} or {@link BudgetDimension#REQUESTS}
   * @param needed the amount that the head takes
   * @param duration the time for which there has been such a head without a break
   */
  public record Exhaustion(BudgetDimension dimension, long needed, Duration duration) {}

  /**
   * A condition of a model that needs attention.
   *
   * @param model its name
   * @param kind the condition
   * @param value the measured value: a rate of rejections from 0 to 1, waiting requests, tokens
   *     left (or requests, if these are exhausted), tokens that were reported and not charged
   * @param threshold the value from which on the alert is raised; of an exhausted budget, the
   *     amount that the head of the waiting list needs
   * @param advice what to do
   * @param since the time from which on the condition holds
   */
  public record Alert(
      String model, Kind kind, double value, double threshold, String advice, Instant since) {
    /** Kinds of conditions. */
    public enum Kind {
      /** Too many requests are queued or denied. */
      HIGH_REJECTION_RATE("Scale model capacity"),
      /** Too many requests wait. */
      QUEUE_BUILDUP("Increase refill rate"),
      /** The model's own budget cannot serve the head of the waiting list for a while. */
      BUCKET_EXHAUSTED(
          "Emergency refill: an operator's decision, by a reload with a larger budget"),
      /** A settlement reported more than could be charged; the advice names the tenant. */
      SETTLED_EXCESS("Check what the tenant reports");

      private final String advice;

      Kind(String advice) {
        this.advice = advice;
      }

      /**
       * Returns what to do.
       *
       * @return a description
       */
      public String advice() {
        return advice;
      }
    }
  }
}
