package dev.sluice.governor.redis.internal.store;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.sluice.Limit;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.ModelLimits;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/** The configuration of a model in the form that scripts take. */
public final class ModelScriptConfig {
  /** A debt may be twice the capacity, and doubles represent integers up to 2^53 exactly. */
  private static final long MOST_UNITS = 1L << 52;

  private static final long NANOS_PER_MICRO = 1_000;
  private static final long SECOND_NANOS = 1_000_000_000L;

  private final ModelBudget budget;
  private final WaitingListConfig waitingList;
  private final String json;
  private final boolean plain;
  private final List<String> tenants = new ArrayList<>();

  private ModelScriptConfig(String model, ModelBudget budget, WaitingListConfig waitingList) {
    this.budget = budget;
    this.waitingList = waitingList;
    ModelLimits limits = BudgetStoreSupport.limits(budget);
    // In the same order in every process.
    new TreeMap<>(limits.tenants())
        .forEach(
            (name, rate) -> {
              tenants.add(name);
              tenants.add(
                  tenant("burst_tpm of tenant %s of %s".formatted(name, model), rate, name)
                      .toString());
            });
    plain =
        limits.tenants().isEmpty()
            && limits.otherTenants() == null
            && limits.classes().stream().allMatch(each -> each.guarantee() == null);
    ObjectNode all = describe(model, limits);
    all.put("print", BudgetStoreSupport.fingerprint(all + String.join("\n", tenants)));
    json = all.toString();
  }

  /**
   * Creates the configuration of a model.
   *
   * @throws IllegalArgumentException if no exact units fit
   */
  public static ModelScriptConfig of(
      String model, ModelBudget budget, WaitingListConfig waitingList) {
    return new ModelScriptConfig(model, budget, waitingList);
  }

  private ObjectNode describe(String model, ModelLimits limits) {
    ObjectNode all = rate("burst_tpm of " + model, limits.tokens());
    ArrayNode requests = all.putArray("requests");
    for (Limit.Balanced each : limits.requests()) {
      boolean second = each.refillPeriod().toNanos() == SECOND_NANOS;
      requests.add(
          rate((second ? "qps of " : "rpm of ") + model, each)
              .put("name", second ? "second" : "minute"));
    }
    all.put("conc", limits.concurrency());
    ArrayNode classes = all.putArray("classes");
    for (ModelLimits.ClassLimit each : limits.classes()) {
      ObjectNode one = classes.addObject().put("name", each.name()).put("ceiling", each.ceiling());
      Limit.Balanced minimumShare = each.guarantee();
      if (minimumShare != null) {
        one.set("g", rate("the minimum share of " + each.name(), minimumShare));
      }
    }
    Limit.Balanced others = limits.otherTenants();
    if (others != null) {
      all.set(
          "others", tenant("burst_tpm of tenant * of " + model, others, ModelBudget.OTHER_TENANTS));
    }
    all.put("tenants", !limits.tenants().isEmpty());
    return all.put("most", limits.maxChargedTokens())
        .put("maxLine", waitingList.maxWaiting())
        .put("patience", micros(waitingList.ticketIdleTimeout()))
        .put("life", micros(waitingList.reservationTimeout()))
        .put("batch", waitingList.drainBatch());
  }

  private ObjectNode tenant(String what, Limit.Balanced rate, String name) {
    return rate(what, rate)
        .put("weight", Objects.requireNonNull(budget.tenants().get(name)).weight());
  }

  /** A token is worth {@code unit}, and {@code mint} accrues per microsecond. */
  private static ObjectNode rate(String what, Limit.Balanced rate) {
    long period = rate.refillPeriod().toNanos() / NANOS_PER_MICRO;
    long divisor =
        BigInteger.valueOf(rate.refillTokens()).gcd(BigInteger.valueOf(period)).longValueExact();
    long unit = period / divisor;
    if (rate.capacity() > MOST_UNITS / unit) {
      throw new IllegalArgumentException(
          "%s must be at most %d at %d in %d seconds, so that Redis computes exactly, but was %d"
              .formatted(
                  what,
                  MOST_UNITS / unit,
                  rate.refillTokens(),
                  rate.refillPeriod().toNanos() / SECOND_NANOS,
                  rate.capacity()));
    }
    return JsonNodeFactory.instance
        .objectNode()
        .put("cap", rate.capacity())
        .put("unit", unit)
        .put("mint", rate.refillTokens() / divisor);
  }

  /** Rounds up. */
  static long micros(Duration time) {
    return Math.floorDiv(time.toNanos() + NANOS_PER_MICRO - 1, NANOS_PER_MICRO);
  }

  ModelBudget budget() {
    return budget;
  }

  WaitingListConfig waitingList() {
    return waitingList;
  }

  /** Returns whether the fast scripts apply: no budgets of tenants and no minimum shares. */
  boolean isPlain() {
    return plain;
  }

  /** Returns the priority classes, the most urgent first. */
  Set<String> classes() {
    return budget.priorityClasses().keySet();
  }

  /**
   * Returns the arguments of {@link GovernorScript#CONFIGURE}.
   *
   * @param join whether existing state keeps its configuration
   * @param full whether new state may start full
   * @param generation the generation of new state
   */
  public String[] configure(boolean join, boolean full, long generation) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                join ? "join" : "configure",
                json,
                full ? "full" : "empty",
                Long.toString(generation)));
    arguments.addAll(tenants);
    return arguments.toArray(String[]::new);
  }
}
