package dev.sluice.governor;

import dev.sluice.governor.internal.monitor.ProviderFeedback;
import dev.sluice.governor.spi.StoreTimer;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Adjusts the budgets of models by the responses of their providers. Thread-safe. */
final class ProviderResponses {
  private final BudgetStore store;
  private final StoreTimer timer;
  private final Map<String, ProviderFeedback> byModel = new ConcurrentHashMap<>();

  ProviderResponses(BudgetStore store, StoreTimer timer) {
    this.store = store;
    this.timer = timer;
  }

  CompletableFuture<Void> report(String model, ProviderResponse response) {
    return store.status().thenCompose(status -> adjust(model, response, status.models()));
  }

  private CompletableFuture<Void> adjust(
      String model, ProviderResponse response, Map<String, GovernorStatus.Model> models) {
    GovernorStatus.Model here = models.get(model);
    if (here == null) {
      throw new IllegalArgumentException(
          "model must be one of %s, but was %s".formatted(models.keySet(), model));
    }
    ProviderFeedback provider = byModel.computeIfAbsent(model, unused -> new ProviderFeedback());
    ProviderAdjustment adjustment =
        provider.answer(
            response, here.targetTpm(), here.available(), timer.nanoTime(), Instant.now());
    return store.adjust(model, adjustment);
  }

  /** Forgets the providers of all other models. */
  void retain(Set<String> models) {
    byModel.keySet().retainAll(models);
  }

  /** Adds the effect of the providers to the status of a store. */
  GovernorStatus complete(GovernorStatus status) {
    Map<String, GovernorStatus.Model> models = new LinkedHashMap<>(status.models());
    byModel.forEach(
        (model, provider) ->
            models.computeIfPresent(
                model, (name, each) -> each.with(each.audit(), provider.status(), each.alerts())));
    return new GovernorStatus(models, status.closed(), status.timestamp());
  }
}
