package dev.sluice.governor.redis;

import dev.sluice.governor.ModelBudget;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Divides a budget among nodes, so that all of them together have no more than the whole. */
final class ShareOfBudget {
  private ShareOfBudget() {}

  /**
   * The part of one node, but for its slots: who holds those is known elsewhere. Null if there is
   * too little to divide.
   */
  static @Nullable ModelBudget of(ModelBudget whole, int nodes) {
    if (isNothing(whole.targetTpm(), nodes)
        || isNothing(whole.burstTpm(), nodes)
        || isNothing(whole.requestsPerSecond(), nodes)
        || isNothing(whole.requestsPerMinute(), nodes)
        || isNothing(whole.concurrency(), nodes)) {
      return null;
    }
    Map<String, ModelBudget.TenantBudget> tenants = new LinkedHashMap<>();
    whole
        .tenants()
        .forEach(
            (name, each) -> {
              if (!isNothing(each, nodes)) {
                tenants.put(
                    name,
                    new ModelBudget.TenantBudget(
                        each.targetTpm() / nodes, each.burstTpm() / nodes, each.weight()));
              }
            });
    return new ModelBudget(
        whole.targetTpm() / nodes,
        whole.burstTpm() / nodes,
        whole.requestsPerSecond() / nodes,
        whole.requestsPerMinute() / nodes,
        0,
        whole.allocation(),
        whole.classes(),
        whole.minimumShares(),
        tenants,
        whole.estimateOutput(),
        whole.maxContext(),
        whole.maxOutput());
  }

  /** Where 0 is no limit, it is no limit for a share either. */
  private static boolean isNothing(long limit, int nodes) {
    return limit > 0 && limit / nodes == 0;
  }

  private static boolean isNothing(ModelBudget.TenantBudget budget, int nodes) {
    return isNothing(budget.targetTpm(), nodes) || isNothing(budget.burstTpm(), nodes);
  }

  /** False if its budget is too small to divide. */
  static boolean hasTenant(ModelBudget whole, String tenant, int nodes) {
    ModelBudget.TenantBudget others = whole.tenants().get(ModelBudget.OTHER_TENANTS);
    ModelBudget.TenantBudget own = whole.tenants().getOrDefault(tenant, others);
    return own == null || !isNothing(own, nodes);
  }
}
