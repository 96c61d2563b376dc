package dev.sluice.governor;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Budgets in this process: a desk for each model. */
final class LocalBudgetStore implements BudgetStore {
  private final GovernorTimer timer;
  private final Map<String, ModelDesk> desks = new LinkedHashMap<>();
  private final List<ModelDesk> byNumber = new ArrayList<>();

  private LocalBudgetStore(BudgetConfig config, BudgetListener listener, GovernorTimer timer) {
    this.timer = timer;
    config
        .models()
        .forEach(
            (model, budget) -> {
              ModelDesk desk =
                  new ModelDesk(
                      model, budget, config.rules(), timer, new Ids(byNumber.size()), listener);
              desks.put(model, desk);
              byNumber.add(desk);
            });
  }

  static Opener inMemory(GovernorTimer timer) {
    return (config, listener) -> new LocalBudgetStore(config, listener, timer);
  }

  private static <T> CompletableFuture<T> now(Supplier<T> decision) {
    try {
      return CompletableFuture.completedFuture(decision.get());
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  private ModelDesk desk(String model) {
    ModelDesk desk = desks.get(model);
    if (desk == null) {
      throw new IllegalArgumentException(
          "model must be one of %s: %s".formatted(desks.keySet(), model));
    }
    return desk;
  }

  private Optional<ModelDesk> deskOf(String id) {
    int number = Ids.deskOf(id);
    return number >= 0 && number < byNumber.size()
        ? Optional.of(byNumber.get(number))
        : Optional.empty();
  }

  @Override
  public CompletableFuture<Outcome> request(TokenRequest request) {
    return now(() -> desk(request.model()).request(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> tryNow(TokenRequest request) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public CompletableFuture<Optional<Outcome>> find(TokenRequest request) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public CompletableFuture<Optional<Outcome>> poll(String ticket) {
    return now(() -> deskOf(ticket).flatMap(desk -> desk.poll(ticket)));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> await(String ticket) {
    return deskOf(ticket)
        .flatMap(desk -> desk.await(ticket))
        .map(outcome -> outcome.thenApply(Optional::of))
        .orElseGet(() -> CompletableFuture.completedFuture(Optional.empty()));
  }

  @Override
  public CompletableFuture<Boolean> cancel(String ticket) {
    return now(() -> deskOf(ticket).map(desk -> desk.cancel(ticket)).orElse(false));
  }

  @Override
  public CompletableFuture<Optional<Settlement>> settle(String reservation, long actualTokens) {
    return now(
        () -> {
          if (actualTokens < 0) {
            throw new IllegalArgumentException(
                "actual tokens must not be negative: " + actualTokens);
          }
          return deskOf(reservation).flatMap(desk -> desk.settleOnce(reservation, actualTokens));
        });
  }

  @Override
  public CompletableFuture<Boolean> extend(String reservation) {
    return now(() -> deskOf(reservation).map(desk -> desk.extend(reservation)).orElse(false));
  }

  @Override
  public CompletableFuture<Explanation> explain(TokenRequest request) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public CompletableFuture<Void> adjust(String model, Adjustment adjustment) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public CompletableFuture<Void> reload(BudgetConfig config) {
    throw new UnsupportedOperationException("soon");
  }

  @Override
  public CompletableFuture<GovernorStatus> status() {
    return now(
        () -> {
          Map<String, GovernorStatus.Model> buckets = new LinkedHashMap<>();
          desks.forEach((model, desk) -> buckets.put(model, desk.status()));
          return new GovernorStatus(buckets, Instant.now());
        });
  }

  @Override
  public void close() {
    timer.close();
  }
}
