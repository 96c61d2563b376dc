package dev.sluice.governor;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * How all models stand.
 *
 * @param buckets each model, by its name
 * @param timestamp when
 * @since 0.1
 */
public record GovernorStatus(Map<String, Model> buckets, Instant timestamp) {
  /** Keeps the order of the models. */
  public GovernorStatus {
    buckets = Collections.unmodifiableMap(new LinkedHashMap<>(buckets));
  }

  /**
   * How a model stands.
   *
   * @param model its name
   * @param capacity the most tokens there are at a time
   * @param available tokens there are now, less than zero after overuse
   * @param utilizationPct how much of the capacity is in use, with two decimals
   * @param targetTpm tokens that accrue in a minute
   * @param burstTpm as the capacity
   * @param refillRate tokens that accrue in a second
   * @param queueLengths those in line, by class
   * @param metrics what was counted
   */
  public record Model(
      String model,
      long capacity,
      long available,
      String utilizationPct,
      long targetTpm,
      long burstTpm,
      double refillRate,
      Map<String, Integer> queueLengths,
      Counts metrics) {
    /** Keeps the order of the classes. */
    public Model {
      queueLengths = Collections.unmodifiableMap(new LinkedHashMap<>(queueLengths));
    }

    static Model of(
        String model,
        ModelBudget budget,
        long available,
        Map<String, Integer> queueLengths,
        Counts metrics) {
      long capacity = budget.burstTpm();
      double used = 100.0 * (capacity - available) / capacity;
      return new Model(
          model,
          capacity,
          available,
          String.format(Locale.ROOT, "%.2f", used),
          budget.targetTpm(),
          capacity,
          budget.targetTpm() / 60.0,
          queueLengths,
          metrics);
    }
  }
}
