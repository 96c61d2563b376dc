package dev.sluice.governor.spi;

import dev.sluice.Limit;
import dev.sluice.governor.Allocation;
import dev.sluice.governor.ModelBudget;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The limits that the waiting list of a model keeps.
 *
 * @param tokens of the model
 * @param requests in a time, all of which hold; none for any number
 * @param concurrency requests at once; 0 for any number
 * @param classes the most urgent first
 * @param tenants budgets inside the model, by tenant
 * @param otherTenants the budget of each tenant without one of its own; null for none
 * @param maxChargedTokens the most that a settlement charges for a smaller reservation
 * @since 0.1
 */
public record ModelLimits(
    Limit.Balanced tokens,
    List<Limit.Balanced> requests,
    int concurrency,
    List<ClassLimit> classes,
    Map<String, Limit.Balanced> tenants,
    Limit.@Nullable Balanced otherTenants,
    long maxChargedTokens) {
  private static final int MOST_AT_ONCE = 100_000;

  /**
   * The limits of a priority class.
   *
   * @param name its name
   * @param ceiling the tokens of the capacity that may be in use when the class is granted any
   * @param guarantee the minimum share: a rate that it gets even while more urgent ones wait; null
   *     for none
   */
  public record ClassLimit(String name, long ceiling, Limit.@Nullable Balanced guarantee) {}

  /** Returns the limits of a budget. */
  public static ModelLimits of(ModelBudget budget) {
    Map<String, Limit.Balanced> tenants = new LinkedHashMap<>();
    budget.tenants().forEach((name, each) -> tenants.put(name, each.tokens()));
    Limit.Balanced others = tenants.remove(ModelBudget.OTHER_TENANTS);
    return new ModelLimits(
        budget.tokens(),
        budget.requests(),
        budget.maxConcurrentRequests(),
        budget.priorityClasses().entrySet().stream()
            .map(each -> classLimit(budget, each.getKey(), each.getValue()))
            .toList(),
        tenants,
        others,
        budget.maxChargedTokens());
  }

  private static ClassLimit classLimit(ModelBudget budget, String name, double share) {
    Limit.Balanced whole = budget.tokens();
    return new ClassLimit(
        name,
        BudgetLimits.part(budget.allocation() == Allocation.CEILING ? share : 1, whole.capacity()),
        Optional.ofNullable(budget.minimumShares().get(name))
            .map(minimum -> BudgetLimits.part(minimum, whole))
            .orElse(null));
  }

  /**
   * Returns the same text for the same limits in any process. Leaves out {@code maxChargedTokens},
   * which only settlements use. Journals keep it, so its format must not change.
   */
  public String fingerprint() {
    return Fingerprint.of(
        List.of(
            text(tokens),
            requests.stream().map(ModelLimits::text).toList(),
            concurrency,
            classes.stream().map(ModelLimits::text).toList(),
            tenants.entrySet().stream()
                .collect(
                    Collectors.toMap(
                        Map.Entry::getKey,
                        each -> text(each.getValue()),
                        (one, other) -> one,
                        TreeMap::new)),
            text(otherTenants)));
  }

  private static String text(ClassLimit limit) {
    return "ClassLimit[name=%s, ceiling=%d, guarantee=%s]"
        .formatted(limit.name(), limit.ceiling(), text(limit.guarantee()));
  }

  private static String text(Limit.@Nullable Balanced limit) {
    return limit == null
        ? "null"
        : "Rate[capacity=%d, amount=%d, periodNanos=%d]"
            .formatted(limit.capacity(), limit.refillTokens(), limit.refillPeriod().toNanos());
  }

  /** Returns how many requests may run at once; without a limit, a number that fits into memory. */
  public int slots() {
    return concurrency > 0 ? concurrency : MOST_AT_ONCE;
  }

  /** Returns the limit on the tokens of a tenant; null for none. */
  public Limit.@Nullable Balanced tenant(String name) {
    Limit.Balanced own = tenants.get(name);
    return own == null ? otherTenants : own;
  }
}
