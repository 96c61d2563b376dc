package dev.sluice.governor;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The budget of one model, as {@code token-budget.json} has it.
 *
 * @param targetTpm tokens that accrue in a minute
 * @param burstTpm the most tokens there are at a time
 * @param requestsPerSecond 0 for any number
 * @param requestsPerMinute 0 for any number
 * @param concurrency requests at once; 0 for any number
 * @param allocation what the shares mean
 * @param classes the share of each, from 0 (exclusive) to 1, in the order in which they go
 * @param minimumShares what a class gets of the rate whoever else is there, from 0 to 1
 * @param tenants budgets inside this one; that of {@code *} is for each of the others
 * @since 0.1
 */
public record ModelBudget(
    long targetTpm,
    long burstTpm,
    long requestsPerSecond,
    long requestsPerMinute,
    int concurrency,
    Allocation allocation,
    Map<String, Double> classes,
    Map<String, Double> minimumShares,
    Map<String, TenantBudget> tenants) {
  /** The tenant that stands for all without a budget of their own. */
  public static final String OTHER_TENANTS = "*";

  /** The seed's classes, the first goes first. */
  public static final Map<String, Double> USUAL_CLASSES = usualClasses();

  private static final long MAX_TOKENS = 1_000_000_000_000L;
  private static final int MAX_CLASSES = 16;
  private static final long SECOND_NANOS = 1_000_000_000L;
  private static final long MINUTE_NANOS = 60 * SECOND_NANOS;

  /**
   * The budget of a tenant inside a model.
   *
   * @param targetTpm tokens that accrue in a minute
   * @param burstTpm the most tokens there are at a time
   * @param weight turns it has for one of weight 1
   */
  public record TenantBudget(long targetTpm, long burstTpm, int weight) {
    /** Checks every part. */
    public TenantBudget {
      requireBetween("target_tpm of a tenant", targetTpm, 1, MAX_TOKENS);
      requireBetween("burst_tpm of a tenant", burstTpm, 1, MAX_TOKENS);
      requireBetween("weight of a tenant", weight, 1, 1_000);
    }
  }

  /** Checks every part. */
  public ModelBudget {
    requireBetween("target_tpm", targetTpm, 1, MAX_TOKENS);
    requireBetween("burst_tpm", burstTpm, 1, MAX_TOKENS);
    requireBetween("qps", requestsPerSecond, 0, MAX_TOKENS);
    requireBetween("rpm", requestsPerMinute, 0, MAX_TOKENS);
    requireBetween("concurrency", concurrency, 0, Integer.MAX_VALUE);
    requireBetween("the number of priority_classes", classes.size(), 1, MAX_CLASSES);
    classes.forEach((name, share) -> requireShare("the share of class " + name, share));
    double guaranteed = 0;
    for (Map.Entry<String, Double> each : minimumShares.entrySet()) {
      if (!classes.containsKey(each.getKey())) {
        throw new IllegalArgumentException(
            "minimum_shares must name one of the classes %s: %s"
                .formatted(classes.keySet(), each.getKey()));
      }
      requireShare("the minimum share of class " + each.getKey(), each.getValue());
      guaranteed += each.getValue();
    }
    if (guaranteed > 1) {
      throw new IllegalArgumentException(
          "minimum_shares must be at most 1 together: " + guaranteed);
    }
    classes = Collections.unmodifiableMap(new LinkedHashMap<>(classes));
    minimumShares = Map.copyOf(minimumShares);
    tenants = Map.copyOf(tenants);
  }

  /**
   * Tokens alone, in the usual classes.
   *
   * @param targetTpm tokens that accrue in a minute
   * @param burstTpm the most tokens there are at a time
   * @param allocation what the shares mean
   * @return the budget
   */
  public static ModelBudget of(long targetTpm, long burstTpm, Allocation allocation) {
    return new ModelBudget(
        targetTpm, burstTpm, 0, 0, 0, allocation, USUAL_CLASSES, Map.of(), Map.of());
  }

  private static Map<String, Double> usualClasses() {
    Map<String, Double> classes = new LinkedHashMap<>();
    classes.put("P0_clinical", 1.0);
    classes.put("P1_user", 0.7);
    classes.put("P2_batch", 0.4);
    return Collections.unmodifiableMap(classes);
  }

  private static void requireBetween(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be from %d to %d: %d".formatted(name, least, most, value));
    }
  }

  private static void requireShare(String name, double share) {
    // Also false for what is no number.
    if (!(share > 0 && share <= 1)) {
      throw new IllegalArgumentException(name + " must be above 0 and at most 1: " + share);
    }
  }

  /** Turns of a tenant for one of weight 1. */
  int weight(String tenant) {
    TenantBudget own = tenants.getOrDefault(tenant, tenants.get(OTHER_TENANTS));
    return own == null ? 1 : own.weight();
  }

  /** What its line has to keep. */
  ModelLimits limits() {
    Map<String, ModelLimits.Rate> budgets = new LinkedHashMap<>();
    tenants.forEach(
        (name, each) -> budgets.put(name, perMinute(each.burstTpm(), each.targetTpm())));
    ModelLimits.Rate others = budgets.remove(OTHER_TENANTS);
    return new ModelLimits(
        perMinute(burstTpm, targetTpm),
        requests(),
        concurrency,
        classes.entrySet().stream().map(this::classLimit).toList(),
        budgets,
        others);
  }

  private static ModelLimits.Rate perMinute(long burst, long target) {
    return new ModelLimits.Rate(burst, target, MINUTE_NANOS);
  }

  private ModelLimits.@Nullable Rate requests() {
    if (requestsPerSecond > 0) {
      return new ModelLimits.Rate(requestsPerSecond, requestsPerSecond, SECOND_NANOS);
    }
    return requestsPerMinute > 0
        ? new ModelLimits.Rate(requestsPerMinute, requestsPerMinute, MINUTE_NANOS)
        : null;
  }

  private ModelLimits.ClassLimit classLimit(Map.Entry<String, Double> each) {
    double share = allocation == Allocation.CEILING ? each.getValue() : 1;
    ModelLimits.Rate guarantee =
        Optional.ofNullable(minimumShares.get(each.getKey()))
            .map(
                minimum ->
                    perMinute(
                        Math.max(1, (long) (minimum * burstTpm)),
                        Math.max(1, (long) (minimum * targetTpm))))
            .orElse(null);
    return new ModelLimits.ClassLimit(
        each.getKey(), Math.max(1, (long) (share * burstTpm)), guarantee);
  }
}
