package dev.sluice.governor;

import dev.sluice.governor.spi.BudgetStoreSupport;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Sends requests to a store: resolves routes and estimates what requests will use. */
final class TokenRequests {
  private final BudgetStore store;
  private final ModelRouter router;
  private final OutputEstimator estimator = new OutputEstimator();

  TokenRequests(BudgetStore store) {
    this.store = store;
    this.router = new ModelRouter(store);
  }

  CompletableFuture<TokenDecision> request(BudgetConfig config, TokenRequest request) {
    List<String> route = route(config, request.model());
    return route == null
        ? store.request(completed(config, request))
        : router.request(equivalents(config, request, route));
  }

  CompletableFuture<TokenExplanation> explain(BudgetConfig config, TokenRequest request) {
    List<String> route = route(config, request.model());
    return route == null
        ? store.explain(completed(config, request))
        : router.explain(equivalents(config, request, route));
  }

  /** Returns the models of a route, or null if {@code name} is a model. */
  private static @Nullable List<String> route(BudgetConfig config, String name) {
    List<String> route = config.routes().get(name);
    if (route == null && !config.models().containsKey(name)) {
      Set<String> names = new LinkedHashSet<>(config.models().keySet());
      names.addAll(config.routes().keySet());
      throw BudgetStoreSupport.unknownModel(names, name);
    }
    return route;
  }

  private List<TokenRequest> equivalents(
      BudgetConfig config, TokenRequest request, List<String> route) {
    return route.stream().map(model -> completed(config, request.withModel(model))).toList();
  }

  private TokenRequest completed(BudgetConfig config, TokenRequest request) {
    ModelBudget budget = config.models().get(request.model());
    if (budget == null || !request.priorityClass().isEmpty()) {
      return estimated(config, request);
    }
    return estimated(config, request.withPriorityClass(budget.leastUrgentClass()));
  }

  /**
   * Lowers the expected tokens if the tenant has been using less than it requested. The caller's
   * own expectation does not lower them further than that.
   */
  private TokenRequest estimated(BudgetConfig config, TokenRequest request) {
    Long expected = request.expectedTokens();
    if (expected == null && !isEstimated(config, request.model())) {
      return request;
    }
    long observed = estimator.estimate(request.model(), request.tenant(), request.tokens());
    return request.withExpectedTokens(expected == null ? observed : Math.max(expected, observed));
  }

  private static boolean isEstimated(BudgetConfig config, String model) {
    ModelBudget budget = config.models().get(model);
    return budget != null && budget.estimateOutput();
  }

  /** Improves later estimates by what a reservation has used. */
  void learn(TokenSettlement settled) {
    estimator.learn(settled);
  }
}
