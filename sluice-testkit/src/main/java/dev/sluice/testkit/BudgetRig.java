package dev.sluice.testkit;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
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
final class BudgetRig {
  private static final int PATIENCE_SECONDS = 30;

  final BudgetStore store;

  BudgetRig(BudgetStore store) {
    this.store = store;
  }

  /** What it says, or throws what it fails with. */
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

  Outcome ask(TokenRequest request) {
    return get(store.request(request));
  }

  Outcome ask(long tokens, String priority) {
    return ask(BudgetSuite.request(tokens, priority));
  }

  Outcome.Granted granted(TokenRequest request) {
    return BudgetSuite.granted(ask(request));
  }

  Outcome.Granted granted(long tokens, String priority) {
    return granted(BudgetSuite.request(tokens, priority));
  }

  Outcome.Queued queued(TokenRequest request) {
    return BudgetSuite.queued(ask(request));
  }

  Outcome.Queued queued(long tokens, String priority) {
    return queued(BudgetSuite.request(tokens, priority));
  }

  /** Somebody who waits in line until it is decided. */
  CompletableFuture<Optional<Outcome>> waiter(TokenRequest request) {
    return store.await(queued(request).ticket());
  }

  Explanation explain(TokenRequest request) {
    return get(store.explain(request));
  }

  // ---- tickets

  Optional<Outcome> poll(Outcome.Queued queued) {
    return get(store.poll(queued.ticket()));
  }

  Outcome.Queued standing(Outcome.Queued queued) {
    return BudgetSuite.queued(poll(queued).orElseThrow());
  }

  boolean isWaiting(Outcome.Queued queued) {
    return poll(queued).orElseThrow() instanceof Outcome.Queued;
  }

  boolean isGranted(Outcome.Queued queued) {
    return poll(queued).orElseThrow() instanceof Outcome.Granted;
  }

  boolean cancel(Outcome.Queued queued) {
    return get(store.cancel(queued.ticket()));
  }

  static Outcome.Granted grantOf(CompletableFuture<Optional<Outcome>> waiter) {
    return BudgetSuite.granted(get(waiter).orElseThrow());
  }

  static Outcome.Reason refusalOf(CompletableFuture<Optional<Outcome>> waiter) {
    return BudgetSuite.refused(get(waiter).orElseThrow()).reason();
  }

  // ---- reservations

  Optional<Settlement> settle(Outcome.Granted granted, long actual) {
    return get(store.settle(granted.reservation(), actual));
  }

  Optional<TokenOwner> owner(String id) {
    return get(store.owner(id));
  }

  boolean extend(Outcome.Granted granted) {
    return get(store.extend(granted.reservation()));
  }

  // ---- other rules

  void adjust(double factor, @Nullable Long tokensAtMost, Duration pause) {
    get(store.adjust(BudgetSuite.MODEL, new Adjustment(factor, tokensAtMost, pause)));
  }

  void reload(BudgetConfig config) {
    get(store.reload(config));
  }

  // ---- how it stands

  GovernorStatus.Model status(String model) {
    return Objects.requireNonNull(get(store.status()).buckets().get(model), model);
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
