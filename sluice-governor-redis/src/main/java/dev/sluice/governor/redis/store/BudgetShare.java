package dev.sluice.governor.redis.store;

import dev.sluice.governor.ModelBudget;
import dev.sluice.redis.connection.MembershipConfig;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Divides a budget among nodes, so that all of them together have no more than the whole.
 *
 * @param parts what belongs to one node, of {@link MembershipConfig#PARTS}
 */
record BudgetShare(int parts) {
  /** Returns the part of this node; null if there is too little to divide. */
  @Nullable ModelBudget of(ModelBudget whole) {
    if (isNothing(whole.targetTpm())
        || isNothing(whole.burstTpm())
        || isNothing(whole.requestsPerSecond())
        || isNothing(whole.requestsPerMinute())
        || isNothing(whole.concurrency())) {
      return null;
    }
    Map<String, ModelBudget.TenantBudget> tenants = new LinkedHashMap<>();
    whole
        .tenants()
        .forEach(
            (name, each) -> {
              if (!isNothing(each)) {
                tenants.put(
                    name,
                    new ModelBudget.TenantBudget(
                        part(each.targetTpm()), part(each.burstTpm()), each.weight()));
              }
            });
    return new ModelBudget(
        part(whole.targetTpm()),
        part(whole.burstTpm()),
        part(whole.requestsPerSecond()),
        part(whole.requestsPerMinute()),
        (int) part(whole.concurrency()),
        whole.allocation(),
        whole.classes(),
        whole.minimumShares(),
        tenants,
        whole.estimateOutput(),
        whole.maxContext(),
        whole.maxOutput());
  }

  /** Rounds down. */
  long part(long whole) {
    return whole <= Long.MAX_VALUE / MembershipConfig.PARTS
        ? whole * parts / MembershipConfig.PARTS
        : whole / MembershipConfig.PARTS * parts;
  }

  /** Where 0 is no limit, it is no limit for a share either. */
  private boolean isNothing(long limit) {
    return limit > 0 && part(limit) == 0;
  }

  private boolean isNothing(ModelBudget.TenantBudget budget) {
    return isNothing(budget.targetTpm()) || isNothing(budget.burstTpm());
  }

  /** Returns whether the budget of a tenant can be divided. */
  boolean hasTenant(ModelBudget whole, String tenant) {
    ModelBudget.TenantBudget others = whole.tenants().get(ModelBudget.OTHER_TENANTS);
    ModelBudget.TenantBudget own = whole.tenants().getOrDefault(tenant, others);
    return own == null || !isNothing(own);
  }

  /** Returns it as a fraction of the whole. */
  double fraction() {
    return parts / (double) MembershipConfig.PARTS;
  }
}
