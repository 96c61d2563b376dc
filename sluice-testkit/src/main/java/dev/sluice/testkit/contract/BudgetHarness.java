package dev.sluice.testkit.contract;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A store under contract, whose answers are waited for. */
final class BudgetHarness {
  private static final int PATIENCE_SECONDS = 30;

  final BudgetStore store;

  BudgetHarness(BudgetStore store) {
    this.store = store;
  }

  /** Returns the result, or throws the failure. */
  static <T extends @Nullable Object> T get(CompletableFuture<T> answer) {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new AssertionError(failure);
    } catch (InterruptedException | TimeoutException failure) {
      throw new AssertionError("no answer", failure);
    }
  }

  // ---- asking

  TokenDecision ask(TokenRequest request) {
    return get(store.request(request));
  }

  TokenDecision ask(long tokens, String priority) {
    return ask(BudgetSuite.request(tokens, priority));
  }

  TokenDecision.Granted granted(TokenRequest request) {
    return BudgetSuite.granted(ask(request));
  }

  TokenDecision.Granted granted(long tokens, String priority) {
    return granted(BudgetSuite.request(tokens, priority));
  }

  TokenDecision.Queued queued(TokenRequest request) {
    return BudgetSuite.queued(ask(request));
  }

  TokenDecision.Queued queued(long tokens, String priority) {
    return queued(BudgetSuite.request(tokens, priority));
  }

  /** A caller that waits until its request is decided. */
  CompletableFuture<Optional<TokenDecision>> waiter(TokenRequest request) {
    return store.await(queued(request).ticket());
  }

  TokenExplanation explain(TokenRequest request) {
    return get(store.explain(request));
  }

  // ---- tickets

  Optional<TokenDecision> poll(TokenDecision.Queued queued) {
    return get(store.poll(queued.ticket()));
  }

  TokenDecision.Queued standing(TokenDecision.Queued queued) {
    return BudgetSuite.queued(poll(queued).orElseThrow());
  }

  boolean isWaiting(TokenDecision.Queued queued) {
    return poll(queued).orElseThrow() instanceof TokenDecision.Queued;
  }

  boolean isGranted(TokenDecision.Queued queued) {
    return poll(queued).orElseThrow() instanceof TokenDecision.Granted;
  }

  boolean cancel(TokenDecision.Queued queued) {
    return get(store.cancel(queued.ticket()));
  }

  static TokenDecision.Granted grantOf(CompletableFuture<Optional<TokenDecision>> waiter) {
    return BudgetSuite.granted(get(waiter).orElseThrow());
  }

  static TokenDecision.Reason refusalOf(CompletableFuture<Optional<TokenDecision>> waiter) {
    return BudgetSuite.refused(get(waiter).orElseThrow()).reason();
  }

  // ---- reservations

  Optional<TokenSettlement> settle(TokenDecision.Granted granted, long actual) {
    return get(store.settle(granted.reservation(), actual));
  }

  Optional<TokenOwner> owner(String id) {
    return get(store.owner(id));
  }

  boolean extend(TokenDecision.Granted granted) {
    return get(store.extend(granted.reservation()));
  }

  // ---- other rules

  void adjust(double factor, @Nullable Long tokensAtMost, Duration pause) {
    get(store.adjust(BudgetSuite.MODEL, new ProviderAdjustment(factor, tokensAtMost, pause)));
  }

  void reload(BudgetConfig config) {
    get(store.reload(config));
  }

  // ---- status

  GovernorStatus.Model status(String model) {
    return Objects.requireNonNull(get(store.status()).models().get(model), model);
  }

  GovernorStatus.Model status() {
    return status(BudgetSuite.MODEL);
  }

  long available() {
    return status().available();
  }

  Map<String, Integer> line() {
    return status().queueLengths();
  }
}
