package dev.sluice.governor.redis.internal.store;

import dev.sluice.Limit;
import dev.sluice.governor.ModelBudget;
import dev.sluice.redis.internal.connection.MembershipConfig;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The share of one node of a budget; the shares of all nodes add up to at most the whole.
 *
 * @param parts the share, in parts of {@link MembershipConfig#PARTS}
 */
record BudgetShare(int parts) {
  /** Returns the budget of this node; null if its share of some limit is less than one. */
  @Nullable ModelBudget of(ModelBudget whole) {
    if (isNothing(whole.tokens())
        || whole.requests().stream().anyMatch(this::isNothing)
        || isNothing(whole.maxConcurrentRequests())) {
      return null;
    }
    Map<String, ModelBudget.TenantBudget> tenants = new LinkedHashMap<>();
    whole
        .tenants()
        .forEach(
            (name, each) -> {
              if (!isNothing(each.tokens())) {
                tenants.put(name, new ModelBudget.TenantBudget(part(each.tokens()), each.weight()));
              }
            });
    return ModelBudget.builder(part(whole.tokens()))
        .requests(whole.requests().stream().map(this::part).toArray(Limit[]::new))
        .maxConcurrentRequests((int) part(whole.maxConcurrentRequests()))
        .allocation(whole.allocation())
        .priorityClasses(whole.priorityClasses())
        .minimumShares(whole.minimumShares())
        .tenants(tenants)
        .estimateOutput(whole.estimateOutput())
        .maxContextTokens(whole.maxContextTokens())
        .maxOutputTokens(whole.maxOutputTokens())
        .build();
  }

  private Limit.Balanced part(Limit.Balanced whole) {
    return new Limit.Balanced(
        part(whole.capacity()), part(whole.refillTokens()), whole.refillPeriod());
  }

  /** Rounds down. */
  long part(long whole) {
    return whole <= Long.MAX_VALUE / MembershipConfig.PARTS
        ? whole * parts / MembershipConfig.PARTS
        : whole / MembershipConfig.PARTS * parts;
  }

  /** Returns whether nothing is left of a limit; 0 is no limit, and none for a share either. */
  private boolean isNothing(long limit) {
    return limit > 0 && part(limit) == 0;
  }

  private boolean isNothing(Limit.Balanced limit) {
    return isNothing(limit.capacity()) || isNothing(limit.refillTokens());
  }

  /** Returns whether the budget of a tenant can be divided. */
  boolean hasTenant(ModelBudget whole, String tenant) {
    ModelBudget.TenantBudget others = whole.tenants().get(ModelBudget.OTHER_TENANTS);
    ModelBudget.TenantBudget own = whole.tenants().getOrDefault(tenant, others);
    return own == null || !isNothing(own.tokens());
  }

  /** Returns the share as a fraction of the whole. */
  double fraction() {
    return parts / (double) MembershipConfig.PARTS;
  }
}
