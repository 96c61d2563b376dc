package dev.sluice.governor;

import dev.sluice.governor.monitor.OutputEstimator;
import dev.sluice.governor.spi.ModelLimits;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

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
 * @param estimateOutput whether to charge what calls have been using of what they ask for
 * @param maxContext the longest prompt of a call, in tokens; 0 if unknown
 * @param maxOutput the longest answer of a call, in tokens; 0 if unknown
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
    Map<String, TenantBudget> tenants,
    boolean estimateOutput,
    long maxContext,
    long maxOutput) {
  /** The tenant that stands for all without a budget of their own. */
  public static final String OTHER_TENANTS = "*";

  /**
   * The priority classes of a budget that names none, the most urgent first. Their shares are 1, so
   * they order the waiting list and limit no class.
   */
  public static final Map<String, Double> DEFAULT_CLASSES = defaultClasses();

  private static final long MAX_TOKENS = 1_000_000_000_000L;
  private static final int MOST_AT_ONCE = 1_000_000_000;
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
      Checks.between("target_tpm of a tenant", targetTpm, 1, MAX_TOKENS);
      Checks.between("burst_tpm of a tenant", burstTpm, 1, MAX_TOKENS);
      Checks.between("weight of a tenant", weight, 1, 1_000);
    }
  }

  /** Checks every part. */
  public ModelBudget {
    Checks.between("target_tpm", targetTpm, 1, MAX_TOKENS);
    Checks.between("burst_tpm", burstTpm, 1, MAX_TOKENS);
    Checks.between("qps", requestsPerSecond, 0, MAX_TOKENS);
    Checks.between("rpm", requestsPerMinute, 0, MAX_TOKENS);
    Checks.between("concurrency", concurrency, 0, MOST_AT_ONCE);
    Checks.between("max_ctx", maxContext, 0, MAX_TOKENS);
    Checks.between("max_out", maxOutput, 0, MAX_TOKENS);
    Checks.between("the number of priority_classes", classes.size(), 1, MAX_CLASSES);
    classes.forEach((name, share) -> Checks.share("the share of class " + name, share));
    BigDecimal guaranteed = BigDecimal.ZERO;
    for (Map.Entry<String, Double> each : minimumShares.entrySet()) {
      if (!classes.containsKey(each.getKey())) {
        throw new IllegalArgumentException(
            "minimum_shares must name one of the classes %s: %s"
                .formatted(classes.keySet(), each.getKey()));
      }
      Checks.share("the minimum share of class " + each.getKey(), each.getValue());
      guaranteed = guaranteed.add(BigDecimal.valueOf(each.getValue()));
    }
    if (guaranteed.compareTo(BigDecimal.ONE) > 0) {
      throw new IllegalArgumentException(
          "minimum_shares must be at most 1 together: " + guaranteed);
    }
    if (estimateOutput && allocation == Allocation.SCALE) {
      throw new IllegalArgumentException(
          "estimate_output must be false with allocation scale: a grant is all there is to use");
    }
    classes = Collections.unmodifiableMap(new LinkedHashMap<>(classes));
    minimumShares = Map.copyOf(minimumShares);
    tenants = Map.copyOf(tenants);
  }

  /**
   * Tokens alone, in the {@linkplain #DEFAULT_CLASSES default classes}.
   *
   * @param targetTpm tokens that accrue in a minute
   * @param burstTpm the most tokens there are at a time
   * @param allocation what the shares mean
   * @return the budget
   */
  public static ModelBudget of(long targetTpm, long burstTpm, Allocation allocation) {
    return new ModelBudget(
        targetTpm, burstTpm, 0, 0, 0, allocation, DEFAULT_CLASSES, Map.of(), Map.of(), false, 0, 0);
  }

  /**
   * The same with limits on requests; both hold.
   *
   * @param perSecond 0 for any number
   * @param perMinute 0 for any number
   * @return the budget
   */
  public ModelBudget withRequests(long perSecond, long perMinute) {
    return new ModelBudget(
        targetTpm,
        burstTpm,
        perSecond,
        perMinute,
        concurrency,
        allocation,
        classes,
        minimumShares,
        tenants,
        estimateOutput,
        maxContext,
        maxOutput);
  }

  /**
   * The same with a limit on requests at once.
   *
   * @param atOnce 0 for any number
   * @return the budget
   */
  public ModelBudget withConcurrency(int atOnce) {
    return new ModelBudget(
        targetTpm,
        burstTpm,
        requestsPerSecond,
        requestsPerMinute,
        atOnce,
        allocation,
        classes,
        minimumShares,
        tenants,
        estimateOutput,
        maxContext,
        maxOutput);
  }

  /**
   * The same with other classes.
   *
   * @param shares the share of each, in the order in which they go
   * @param minimums what a class gets of the rate whoever else is there
   * @return the budget
   */
  public ModelBudget withClasses(Map<String, Double> shares, Map<String, Double> minimums) {
    return new ModelBudget(
        targetTpm,
        burstTpm,
        requestsPerSecond,
        requestsPerMinute,
        concurrency,
        allocation,
        shares,
        minimums,
        tenants,
        estimateOutput,
        maxContext,
        maxOutput);
  }

  /**
   * The same with budgets inside it.
   *
   * @param budgets by tenant; that of {@code *} is for each of the others
   * @return the budget
   */
  public ModelBudget withTenants(Map<String, TenantBudget> budgets) {
    return new ModelBudget(
        targetTpm,
        burstTpm,
        requestsPerSecond,
        requestsPerMinute,
        concurrency,
        allocation,
        classes,
        minimumShares,
        budgets,
        estimateOutput,
        maxContext,
        maxOutput);
  }

  /**
   * The same, which charges what calls have been using of what they ask for, or does not.
   *
   * @param estimate whether to
   * @return the budget
   */
  public ModelBudget withEstimateOutput(boolean estimate) {
    return new ModelBudget(
        targetTpm,
        burstTpm,
        requestsPerSecond,
        requestsPerMinute,
        concurrency,
        allocation,
        classes,
        minimumShares,
        tenants,
        estimate,
        maxContext,
        maxOutput);
  }

  /**
   * Returns the same budget with the most tokens that one call of the model can use.
   *
   * @param context tokens of the longest prompt; 0 if unknown
   * @param output tokens of the longest answer; 0 if unknown
   * @return the budget
   */
  public ModelBudget withCallLimits(long context, long output) {
    return new ModelBudget(
        targetTpm,
        burstTpm,
        requestsPerSecond,
        requestsPerMinute,
        concurrency,
        allocation,
        classes,
        minimumShares,
        tenants,
        estimateOutput,
        context,
        output);
  }

  /**
   * Returns the most that a settlement charges for a smaller reservation: context and output of one
   * call, or the burst if the context is unknown.
   *
   * @return tokens
   */
  public long mostCharged() {
    return maxContext > 0 ? maxContext + maxOutput : burstTpm;
  }

  private static Map<String, Double> defaultClasses() {
    Map<String, Double> classes = new LinkedHashMap<>();
    classes.put("P0_clinical", 1.0);
    classes.put("P1_user", 1.0);
    classes.put("P2_batch", 1.0);
    return Collections.unmodifiableMap(classes);
  }

  /**
   * Returns the class of a request that names none.
   *
   * @return the last of the classes
   */
  public String leastUrgentClass() {
    String last = "";
    for (String each : classes.keySet()) {
      last = each;
    }
    return last;
  }

  /** Turns of a tenant for one of weight 1. */
  public int weight(String tenant) {
    TenantBudget own = tenants.getOrDefault(tenant, tenants.get(OTHER_TENANTS));
    return own == null ? 1 : own.weight();
  }

  /** Of a class that there is. */
  double share(String priority) {
    return Objects.requireNonNull(classes.get(priority));
  }

  /**
   * Returns what is charged for a request of a class that there is. An expectation lowers it by
   * half at most, so calls that stay within their requested tokens use at most twice what was
   * granted, even if callers lie.
   */
  public long reserved(TokenRequest request) {
    Long expected = request.expectedTokens();
    long wanted =
        expected == null
            ? request.tokens()
            : Math.max(expected, OutputEstimator.leastOf(request.tokens()));
    return allocation == Allocation.SCALE ? part(share(request.priorityClass()), wanted) : wanted;
  }

  /** Returns the limits that the waiting list of the model keeps. */
  public ModelLimits limits() {
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
        others,
        mostCharged());
  }

  private static ModelLimits.Rate perMinute(long burst, long target) {
    return new ModelLimits.Rate(burst, target, MINUTE_NANOS);
  }

  private List<ModelLimits.Rate> requests() {
    List<ModelLimits.Rate> rates = new ArrayList<>();
    if (requestsPerSecond > 0) {
      rates.add(new ModelLimits.Rate(requestsPerSecond, requestsPerSecond, SECOND_NANOS));
    }
    if (requestsPerMinute > 0) {
      rates.add(new ModelLimits.Rate(requestsPerMinute, requestsPerMinute, MINUTE_NANOS));
    }
    return rates;
  }

  private ModelLimits.ClassLimit classLimit(Map.Entry<String, Double> each) {
    double share = allocation == Allocation.CEILING ? each.getValue() : 1;
    ModelLimits.Rate guarantee =
        Optional.ofNullable(minimumShares.get(each.getKey()))
            .map(minimum -> perMinute(part(minimum, burstTpm), part(minimum, targetTpm)))
            .orElse(null);
    return new ModelLimits.ClassLimit(each.getKey(), part(share, burstTpm), guarantee);
  }

  /**
   * The whole tokens of a share, at least 1. As the decimal that was written: 0.29 of 100 is 29,
   * and not the 28.999999999999996 of binary fractions.
   */
  static long part(double share, long tokens) {
    return Math.max(1, BigDecimal.valueOf(share).multiply(BigDecimal.valueOf(tokens)).longValue());
  }
}
