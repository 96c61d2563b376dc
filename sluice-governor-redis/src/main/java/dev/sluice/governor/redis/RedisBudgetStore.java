package dev.sluice.governor.redis;

import dev.sluice.governor.Adjustment;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Explanation;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.GovernorTimer;
import dev.sluice.governor.ModelQueue;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.StoreTerms;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Budgets in Redis: a desk for each model. */
final class RedisBudgetStore implements BudgetStore {
  static final String CLOSED = "the governor is closed";

  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  /** The kind of an id, the tag of its model, and what Redis knows it by. */
  private static final Pattern ID = Pattern.compile("([tr])([0-9a-f]{10})-([0-9a-f]{32})");

  private final Fleet fleet;
  private final GovernorTimer timer;
  private final BudgetListener listener;

  /** Also of models that were removed: what they granted can still be settled. */
  private final Map<String, RedisDesk> everOpened = new LinkedHashMap<>();

  private volatile Desks desks = new Desks(Map.of(), Map.of());
  private volatile boolean closed;

  /** By the name of the model, and by the tag of its tickets and reservations. */
  private record Desks(Map<String, RedisDesk> byModel, Map<String, RedisDesk> byTag) {}

  private RedisBudgetStore(Fleet fleet, GovernorTimer timer, BudgetListener listener) {
    this.fleet = fleet;
    this.timer = timer;
    this.listener = listener;
  }

  static RedisBudgetStore open(
      FleetConfig fleet, GovernorTimer timer, BudgetConfig config, BudgetListener listener) {
    Map<String, ModelTerms> terms = terms(config);
    RedisBudgetStore store = over(new Fleet(fleet), timer, terms, listener);
    store.fleet.start();
    return store;
  }

  /** Creates a store whose connection is not open yet. */
  static RedisBudgetStore over(
      Fleet fleet, GovernorTimer timer, Map<String, ModelTerms> terms, BudgetListener listener) {
    RedisBudgetStore store = new RedisBudgetStore(fleet, timer, listener);
    store.use(terms);
    // Also those of removed models: what they granted is charged, what was settled is sent.
    fleet.serve(() -> store.desks.byTag().values());
    return store;
  }

  /** Whatever Redis cannot reckon with is found before anything is changed. */
  static Map<String, ModelTerms> terms(BudgetConfig config) {
    Map<String, ModelTerms> terms = new LinkedHashMap<>();
    config
        .models()
        .forEach((model, budget) -> terms.put(model, ModelTerms.of(model, budget, config.rules())));
    return terms;
  }

  private void use(Map<String, ModelTerms> terms) {
    Map<String, RedisDesk> byModel = new LinkedHashMap<>();
    terms.forEach(
        (model, each) ->
            byModel.put(
                model,
                everOpened.computeIfAbsent(
                    model, name -> new RedisDesk(name, each, fleet, timer, listener))));
    Map<String, RedisDesk> byTag = new HashMap<>();
    everOpened.forEach((model, desk) -> byTag.put(StoreTerms.tagOf(model), desk));
    desks = new Desks(Collections.unmodifiableMap(byModel), byTag);
  }

  /** Whether nothing is under way, and nobody is told of anything any more. */
  boolean isQuiet() {
    return desks.byTag().values().stream().allMatch(RedisDesk::isQuiet);
  }

  // ---- what they are asked for

  private <T> CompletableFuture<T> open(Supplier<CompletableFuture<T>> question) {
    if (closed) {
      return CompletableFuture.failedFuture(new IllegalStateException(CLOSED));
    }
    try {
      return question.get();
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  private RedisDesk desk(String model) {
    RedisDesk desk = desks.byModel().get(model);
    if (desk == null) {
      throw StoreTerms.unknownModel(desks.byModel().keySet(), model);
    }
    return desk;
  }

  /** What a desk says about an id; if it is of none, that. */
  private <T> CompletableFuture<T> of(
      String kind, String id, T nobody, BiFunction<RedisDesk, String, CompletableFuture<T>> ask) {
    return open(
        () -> {
          Matcher parts = ID.matcher(id);
          RedisDesk desk =
              parts.matches() && kind.equals(parts.group(1))
                  ? desks.byTag().get(parts.group(2))
                  : null;
          return desk == null
              ? CompletableFuture.completedFuture(nobody)
              : ask.apply(desk, parts.group(3));
        });
  }

  @Override
  public CompletableFuture<Outcome> request(TokenRequest request) {
    return open(() -> desk(request.model()).request(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> tryNow(TokenRequest request) {
    return open(() -> desk(request.model()).tryNow(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> find(TokenRequest request) {
    return open(() -> desk(request.model()).find(request));
  }

  @Override
  public CompletableFuture<Optional<Outcome>> poll(String ticket) {
    return of("t", ticket, Optional.empty(), RedisDesk::poll);
  }

  @Override
  public CompletableFuture<Optional<Outcome>> await(String ticket) {
    return of("t", ticket, Optional.empty(), RedisDesk::await);
  }

  @Override
  public CompletableFuture<Boolean> cancel(String ticket) {
    return of("t", ticket, false, RedisDesk::cancel);
  }

  @Override
  public CompletableFuture<Optional<Settlement>> settle(String reservation, long actualTokens) {
    return open(
        () -> {
          StoreTerms.requireActual(actualTokens);
          return of(
              "r", reservation, Optional.empty(), (desk, id) -> desk.settle(id, actualTokens));
        });
  }

  @Override
  public CompletableFuture<Boolean> extend(String reservation) {
    return of("r", reservation, false, RedisDesk::extend);
  }

  @Override
  public CompletableFuture<Optional<TokenOwner>> owner(String id) {
    return of(id.startsWith("t") ? "t" : "r", id, Optional.empty(), RedisDesk::owner);
  }

  @Override
  public CompletableFuture<Explanation> explain(TokenRequest request) {
    return open(() -> desk(request.model()).explain(request));
  }

  @Override
  public CompletableFuture<Void> adjust(String model, Adjustment adjustment) {
    return open(() -> CompletableFuture.allOf(desk(model).adjust(adjustment)));
  }

  /** If Redis does not answer it holds here, and for the others when Redis is back. */
  @Override
  public synchronized CompletableFuture<Void> reload(BudgetConfig config) {
    return open(
        () -> {
          Map<String, ModelTerms> terms = terms(config);
          Map<String, RedisDesk> before = desks.byModel();
          use(terms);
          List<CompletableFuture<?>> calls = new ArrayList<>();
          terms.forEach((model, each) -> calls.add(accepted(desk(model).reload(each))));
          before.forEach(
              (model, desk) -> {
                if (!terms.containsKey(model)) {
                  calls.add(accepted(desk.remove()));
                }
              });
          return CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new));
        });
  }

  private static CompletableFuture<?> accepted(CompletableFuture<?> change) {
    return change.handle(
        (done, failure) -> {
          if (failure != null && !BudgetUnavailableException.isCauseOf(failure)) {
            throw new CompletionException(failure);
          }
          if (failure != null) {
            LOG.warn("budgets: new rules hold here; Redis is told later: {}", failure.toString());
          }
          return true;
        });
  }

  @Override
  public CompletableFuture<ModelQueue> queue(String model, int offset, int limit) {
    return open(
        () -> {
          StoreTerms.requirePage(offset, limit);
          return desk(model).queue(offset, limit);
        });
  }

  @Override
  public CompletableFuture<GovernorStatus> status() {
    return open(
        () -> {
          Map<String, CompletableFuture<GovernorStatus.Model>> asked = new LinkedHashMap<>();
          desks.byModel().forEach((model, desk) -> asked.put(model, desk.status()));
          return CompletableFuture.allOf(asked.values().toArray(CompletableFuture<?>[]::new))
              .thenApply(
                  done -> {
                    Map<String, GovernorStatus.Model> buckets = new LinkedHashMap<>();
                    asked.forEach((model, each) -> buckets.put(model, each.join()));
                    return new GovernorStatus(buckets, Map.of(), Instant.now());
                  });
        });
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      everOpened.values().forEach(desk -> desk.close(fleet.config().timeout()));
      fleet.close();
      timer.close();
    }
  }
}
