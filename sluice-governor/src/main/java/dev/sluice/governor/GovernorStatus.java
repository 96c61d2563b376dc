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
 * How all models stand.
 *
 * @param buckets each model that decides, by its name
 * @param closed why the other models decide nothing, by name; see {@link Governor#closedModels}
 * @param timestamp when
 * @since 0.1
 */
public record GovernorStatus(
    Map<String, Model> buckets, Map<String, String> closed, Instant timestamp) {
  /** Keeps the order of the models. */
  public GovernorStatus {
    buckets = Collections.unmodifiableMap(new LinkedHashMap<>(buckets));
    closed = Collections.unmodifiableMap(new LinkedHashMap<>(closed));
  }

  /**
   * Returns the alerts of all models.
   *
   * @return in the order of the models
   */
  public List<Alert> alerts() {
    return buckets.values().stream().flatMap(each -> each.alerts().stream()).toList();
  }

  /**
   * How a model stands.
   *
   * @param model its name
   * @param capacity the most tokens there are at a time
   * @param available tokens there are now, less than zero after overuse
   * @param targetTpm tokens that accrue in a minute
   * @param lastRefill when a decision last found new tokens
   * @param queueLengths those in line, by class
   * @param running reservations that are not settled
   * @param metrics what was counted
   * @param audit what an independent count says
   * @param provider what the provider made of it
   * @param exhaustion the head of the line, if the model's own budget cannot serve it
   * @param alerts what somebody should look at
   */
  public record Model(
      String model,
      long capacity,
      long available,
      long targetTpm,
      Instant lastRefill,
      Map<String, Integer> queueLengths,
      int running,
      Counts metrics,
      AuditReport audit,
      ProviderStanding provider,
      Optional<Exhaustion> exhaustion,
      List<Alert> alerts) {
    private static final double MINUTE_SECONDS = 60;

    /** Keeps the order of the classes. */
    public Model {
      queueLengths = Collections.unmodifiableMap(new LinkedHashMap<>(queueLengths));
      alerts = List.copyOf(alerts);
    }

    /**
     * How much of the capacity is in use.
     *
     * @return in percent, with two decimals
     */
    public String utilizationPct() {
      return String.format(Locale.ROOT, "%.2f", 100.0 * (capacity - available) / capacity);
    }

    /**
     * Tokens that accrue in a second.
     *
     * @return the rate that is configured
     */
    public double refillRate() {
      return targetTpm / MINUTE_SECONDS;
    }

    public Model with(AuditReport count, ProviderStanding standing, List<Alert> present) {
      return new Model(
          model,
          capacity,
          available,
          targetTpm,
          lastRefill,
          queueLengths,
          running,
          metrics,
          count,
          standing,
          exhaustion,
          present);
    }
  }

  /**
   * The model's own budget cannot serve the head of its line.
   *
   * @param dimension {@link BudgetDimension#TOKENS} or {@link BudgetDimension#REQUESTS}
   * @param needed what the head takes of it
   * @param lasts for how long there was such a head without a break, whichever it was
   */
  public record Exhaustion(BudgetDimension dimension, long needed, Duration lasts) {}
}
