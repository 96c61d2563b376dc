package dev.sluice.governor;

import static dev.sluice.internal.util.Preconditions.requireBetween;

import dev.sluice.Limit;
import dev.sluice.governor.spi.BudgetLimits;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The budget of one model: tokens, requests, concurrent requests, priority classes and tenants, as
 * in {@code token-budget.json}. Immutable.
 *
 * <p>All limits are {@link Limit.Balanced}. Limits on tokens accrue a whole number of tokens a
 * minute, which may be written with another period: 4,000 a second are 240,000 a minute.
 *
 * @since 0.1
 */
public final class ModelBudget {
  /** The tenant that stands for all without a budget of their own. */
  public static final String OTHER_TENANTS = "*";

  /** The priority class of a budget that names none. */
  public static final String DEFAULT_PRIORITY_CLASS = "default";

  private static final int MAX_CONCURRENT_REQUESTS = 1_000_000_000;
  private static final int MAX_CLASSES = 16;

  private final Values values;

  private record Values(
      Limit.Balanced tokens,
      List<Limit.Balanced> requests,
      int maxConcurrentRequests,
      Allocation allocation,
      Map<String, Double> priorityClasses,
      Map<String, Double> minimumShares,
      Map<String, ModelBudget.TenantBudget> tenants,
      boolean estimateOutput,
      long maxContextTokens,
      long maxOutputTokens) {
    Values {
      tokens = BudgetLimits.tokens("tokens", tokens);
      requests = BudgetLimits.requests(requests);
      requireBetween("concurrency", maxConcurrentRequests, 0, MAX_CONCURRENT_REQUESTS);
      requireBetween("max_ctx", maxContextTokens, 0, TokenRequest.MAX_TOKENS);
      requireBetween("max_out", maxOutputTokens, 0, TokenRequest.MAX_TOKENS);
      requireBetween("the number of priority_classes", priorityClasses.size(), 1, MAX_CLASSES);
      BudgetLimits.requireShares(priorityClasses, minimumShares);
      if (estimateOutput && allocation == Allocation.SCALE) {
        throw new IllegalArgumentException(
            "estimate_output must be false with allocation scale: a grant is all there is to use");
      }
      priorityClasses = Collections.unmodifiableMap(new LinkedHashMap<>(priorityClasses));
      minimumShares = Map.copyOf(minimumShares);
      tenants = Map.copyOf(tenants);
    }
  }

  /**
   * The budget of a tenant inside a model.
   *
   * @param tokens the limit on its tokens
   * @param weight its turns for one of a tenant of weight 1, from 1 to 1,000
   */
  public record TenantBudget(Limit.Balanced tokens, int weight) {
    private static final int MAX_WEIGHT = 1_000;

    public TenantBudget {
      tokens = BudgetLimits.tokens("tokens of a tenant", tokens);
      requireBetween("weight of a tenant", weight, 1, MAX_WEIGHT);
    }

    /**
     * Checks that the limit is {@link Limit.Balanced}.
     *
     * @param tokens the limit on its tokens
     * @param weight its turns for one of a tenant of weight 1, from 1 to 1,000
     */
    public TenantBudget(Limit tokens, int weight) {
      this(BudgetLimits.tokens("tokens of a tenant", tokens), weight);
    }
  }

  private ModelBudget(Values values) {
    this.values = values;
  }

  /**
   * Returns a builder of a budget without any limit but that on tokens.
   *
   * @param tokens the limit on tokens of all requests together
   * @return a new builder
   * @throws IllegalArgumentException if the limit is not {@link Limit.Balanced}, or does not accrue
   *     a whole number of tokens a minute
   */
  public static Builder builder(Limit tokens) {
    return new Builder(tokens);
  }

  /**
   * Returns a builder that begins with the values of this budget.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return new Builder(values.tokens())
        .requests(values.requests().toArray(Limit[]::new))
        .maxConcurrentRequests(values.maxConcurrentRequests())
        .allocation(values.allocation())
        .priorityClasses(values.priorityClasses())
        .minimumShares(values.minimumShares())
        .tenants(values.tenants())
        .estimateOutput(values.estimateOutput())
        .maxContextTokens(values.maxContextTokens())
        .maxOutputTokens(values.maxOutputTokens());
  }

  /**
   * Returns the limit on tokens of all requests together.
   *
   * @return with a period of one minute
   */
  public Limit.Balanced tokens() {
    return values.tokens();
  }

  /**
   * Returns the limits on the number of requests, all of which hold.
   *
   * @return at most one per second and one per minute, in this order; empty for any number
   */
  public List<Limit.Balanced> requests() {
    return values.requests();
  }

  /**
   * Returns the most requests that run at the same time.
   *
   * @return 0 for any number
   */
  public int maxConcurrentRequests() {
    return values.maxConcurrentRequests();
  }

  /**
   * Returns the effect of the shares of the priority classes.
   *
   * @return a ceiling, a scale, or none
   */
  public Allocation allocation() {
    return values.allocation();
  }

  /**
   * Returns the share of each priority class.
   *
   * @return above 0 and at most 1, by class, the most urgent first
   */
  public Map<String, Double> priorityClasses() {
    return values.priorityClasses();
  }

  /**
   * Returns the fractions of the rate that priority classes get even while more urgent ones wait.
   *
   * @return above 0 and at most 1 together, by class
   */
  public Map<String, Double> minimumShares() {
    return values.minimumShares();
  }

  /**
   * Returns the budgets of tenants inside this one.
   *
   * @return by tenant; that of {@link #OTHER_TENANTS} is for each of the others
   */
  public Map<String, TenantBudget> tenants() {
    return values.tenants();
  }

  /**
   * Returns whether requests are charged what earlier ones have been using of their tokens.
   *
   * @return false if they are charged all tokens that they request
   */
  public boolean estimateOutput() {
    return values.estimateOutput();
  }

  /**
   * Returns the longest prompt of a call.
   *
   * @return in tokens; 0 if unknown
   */
  public long maxContextTokens() {
    return values.maxContextTokens();
  }

  /**
   * Returns the longest answer of a call.
   *
   * @return in tokens; 0 if unknown
   */
  public long maxOutputTokens() {
    return values.maxOutputTokens();
  }

  /**
   * Returns the most that a settlement charges for a smaller reservation: context and output of one
   * call, or the burst if the context is unknown.
   *
   * @return tokens
   */
  public long maxChargedTokens() {
    return maxContextTokens() > 0
        ? maxContextTokens() + maxOutputTokens()
        : values.tokens().capacity();
  }

  /**
   * Returns the priority class of a request that names none.
   *
   * @return the last of the classes
   */
  public String leastUrgentClass() {
    String last = "";
    for (String each : priorityClasses().keySet()) {
      last = each;
    }
    return last;
  }

  /**
   * Returns the turns of a tenant for one of a tenant of weight 1.
   *
   * @param tenant its name
   * @return from 1 to 1,000
   */
  public int weight(String tenant) {
    TenantBudget own = tenants().getOrDefault(tenant, tenants().get(OTHER_TENANTS));
    return own == null ? 1 : own.weight();
  }

  /**
   * Returns the tokens that are reserved for a request of one of the classes. An expectation lowers
   * them by half at most, so calls that stay within their requested tokens use at most twice what
   * was granted, even if callers lie.
   *
   * @param request of a class of this budget
   * @return a positive number
   */
  public long reserved(TokenRequest request) {
    Long expected = request.expectedTokens();
    long wanted =
        expected == null
            ? request.tokens()
            : Math.max(expected, OutputEstimator.leastOf(request.tokens()));
    if (allocation() != Allocation.SCALE) {
      return wanted;
    }
    double share = Objects.requireNonNull(priorityClasses().get(request.priorityClass()));
    return BudgetLimits.part(share, wanted);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ModelBudget that && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  @Override
  public String toString() {
    return "ModelBudget" + values;
  }

  /** Builds a {@link ModelBudget}. Not thread-safe. */
  public static final class Builder {
    private final Limit.Balanced tokens;
    private List<Limit.Balanced> requests = List.of();
    private int maxConcurrentRequests;
    private Allocation allocation = Allocation.CEILING;
    private Map<String, Double> priorityClasses = new LinkedHashMap<>();
    private Map<String, Double> minimumShares = new LinkedHashMap<>();
    private Map<String, TenantBudget> tenants = new LinkedHashMap<>();
    private boolean estimateOutput;
    private long maxContextTokens;
    private long maxOutputTokens;

    private Builder(Limit tokens) {
      this.tokens = BudgetLimits.tokens("tokens", tokens);
    }

    /**
     * Sets the limits on the number of requests, all of which hold; without, any number may start.
     *
     * @param limits {@link Limit.Balanced}, at most one per second and one per minute
     * @return this
     * @throws IllegalArgumentException if a limit is of another kind or period
     */
    public Builder requests(Limit... limits) {
      List<Limit.Balanced> checked = new ArrayList<>();
      for (Limit each : limits) {
        checked.add(BudgetLimits.balanced("requests", each));
      }
      requests = BudgetLimits.requests(checked);
      return this;
    }

    /**
     * Sets the most requests that run at the same time; by default, any number may.
     *
     * @param most 0 for any number
     * @return this
     */
    public Builder maxConcurrentRequests(int most) {
      maxConcurrentRequests = most;
      return this;
    }

    /**
     * Sets the effect of the shares of the priority classes; by default, a ceiling.
     *
     * @param effect of all shares
     * @return this
     */
    public Builder allocation(Allocation effect) {
      allocation = effect;
      return this;
    }

    /**
     * Adds a priority class, less urgent than those before. Without any, there is the class {@link
     * #DEFAULT_PRIORITY_CLASS} with a share of 1.
     *
     * @param name not empty
     * @param share above 0 and at most 1
     * @return this
     */
    public Builder priorityClass(String name, double share) {
      priorityClasses.put(name, share);
      return this;
    }

    /**
     * Replaces the priority classes; see {@link #priorityClass}.
     *
     * @param shares by class, the most urgent first
     * @return this
     */
    public Builder priorityClasses(Map<String, Double> shares) {
      priorityClasses = new LinkedHashMap<>(shares);
      return this;
    }

    /**
     * Guarantees a priority class a fraction of the rate even while more urgent ones wait.
     *
     * @param priorityClass one of the classes
     * @param fraction above 0; at most 1 over all classes
     * @return this
     */
    public Builder minimumShare(String priorityClass, double fraction) {
      minimumShares.put(priorityClass, fraction);
      return this;
    }

    /**
     * Replaces the guaranteed fractions; see {@link #minimumShare}.
     *
     * @param fractions by class
     * @return this
     */
    public Builder minimumShares(Map<String, Double> fractions) {
      minimumShares = new LinkedHashMap<>(fractions);
      return this;
    }

    /**
     * Gives a tenant a budget inside this one.
     *
     * @param name the tenant; {@link #OTHER_TENANTS} for each tenant without a budget
     * @param limit the limit on its tokens
     * @param weight its turns for one of a tenant of weight 1, from 1 to 1,000
     * @return this
     */
    public Builder tenant(String name, Limit limit, int weight) {
      tenants.put(name, new TenantBudget(limit, weight));
      return this;
    }

    /**
     * Replaces the budgets of tenants; see {@link #tenant}.
     *
     * @param budgets by tenant
     * @return this
     */
    public Builder tenants(Map<String, TenantBudget> budgets) {
      tenants = new LinkedHashMap<>(budgets);
      return this;
    }

    /**
     * Charges requests what earlier ones have been using of their tokens, or not; by default, not.
     *
     * @param estimate whether to
     * @return this
     */
    public Builder estimateOutput(boolean estimate) {
      estimateOutput = estimate;
      return this;
    }

    /**
     * Sets the longest prompt of a call, which bounds what a settlement may charge.
     *
     * @param most in tokens; 0 if unknown
     * @return this
     */
    public Builder maxContextTokens(long most) {
      maxContextTokens = most;
      return this;
    }

    /**
     * Sets the longest answer of a call; see {@link #maxContextTokens}.
     *
     * @param most in tokens; 0 if unknown
     * @return this
     */
    public Builder maxOutputTokens(long most) {
      maxOutputTokens = most;
      return this;
    }

    /**
     * Builds the budget.
     *
     * @return the budget
     * @throws IllegalArgumentException if a value is out of range, a minimum share names no class,
     *     or the output of scaled grants is to be estimated
     */
    public ModelBudget build() {
      return new ModelBudget(
          new Values(
              tokens,
              requests,
              maxConcurrentRequests,
              allocation,
              priorityClasses.isEmpty() ? Map.of(DEFAULT_PRIORITY_CLASS, 1.0) : priorityClasses,
              minimumShares,
              tenants,
              estimateOutput,
              maxContextTokens,
              maxOutputTokens));
    }
  }
}
