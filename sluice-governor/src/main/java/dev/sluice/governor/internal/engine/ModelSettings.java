package dev.sluice.governor.internal.engine;

import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.spi.BudgetStoreSupport;
import java.util.LinkedHashMap;
import java.util.Map;

/** The configuration of one model, and the refusals that follow from it. Immutable. */
final class ModelSettings {
  final ModelBudget budget;
  final WaitingListConfig config;

  /** The priority classes, from the most urgent, with their numbers. */
  final Map<String, Integer> ranks;

  /** Formatted once: under overload it is the most frequent answer. */
  final String tooManyWaiters;

  private final String model;

  ModelSettings(String model, ModelBudget budget, WaitingListConfig config) {
    this.model = model;
    this.budget = budget;
    this.config = config;
    Map<String, Integer> numbered = new LinkedHashMap<>();
    budget.priorityClasses().keySet().forEach(name -> numbered.put(name, numbered.size()));
    ranks = numbered;
    tooManyWaiters = BudgetStoreSupport.waitingListFull(config.maxWaiting(), model);
  }

  long reservationNanos() {
    return config.reservationTimeout().toNanos();
  }

  long ticketIdleNanos() {
    return config.ticketIdleTimeout().toNanos();
  }

  TokenDemand demand(TokenRequest request) {
    Integer rank = ranks.get(request.priorityClass());
    if (rank == null) {
      throw BudgetStoreSupport.unknownClass(ranks.keySet(), request.priorityClass());
    }
    return new TokenDemand(
        request.tenant(), budget.weight(request.tenant()), rank, budget.reserved(request));
  }

  TokenDecision.Denied denied(TokenRequest request, TokenDecision.Reason reason, long remaining) {
    return denied(request, reason, BudgetStoreSupport.inWords(reason, config), remaining);
  }

  TokenDecision.Denied tooManyWaiters(TokenRequest request, long remaining) {
    return denied(request, TokenDecision.Reason.TOO_MANY_WAITERS, tooManyWaiters, remaining);
  }

  private TokenDecision.Denied denied(
      TokenRequest request, TokenDecision.Reason reason, String message, long remaining) {
    return new TokenDecision.Denied(
        model, request.priorityClass(), request.tokens(), remaining, reason, message);
  }

  TokenDecision.Impossible impossible(TokenRequest request, String message, long remaining) {
    return new TokenDecision.Impossible(
        model, request.priorityClass(), request.tokens(), remaining, message);
  }
}
