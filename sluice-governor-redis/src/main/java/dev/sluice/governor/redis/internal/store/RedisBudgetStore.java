package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.governor.spi.StoreTimer;
import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.RedisFailure;
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

/** Budgets in Redis, with a {@link RedisModelStore} for each model. Thread-safe. */
public final class RedisBudgetStore implements BudgetStore {
  static final String CLOSED = "the governor is closed";

  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  /** The kind of an id, the tag of its model, and the id in Redis. */
  private static final Pattern ID = Pattern.compile("([tr])([0-9a-f]{10})-([0-9a-f]{32})");

  private final GovernorFleetMember fleet;
  private final StoreTimer timer;
  private final BudgetListener listener;

  /** Including removed models, whose grants can still be settled. */
  private final Map<String, RedisModelStore> everOpened = new LinkedHashMap<>();

  private volatile RedisBudgetStore.ModelStores modelStores =
      new RedisBudgetStore.ModelStores(Map.of(), Map.of());
  private volatile boolean closed;

  /** The stores by model, and by the tag of tickets and reservations. */
  private record ModelStores(
      Map<String, RedisModelStore> byModel, Map<String, RedisModelStore> byTag) {}

  private RedisBudgetStore(GovernorFleetMember fleet, StoreTimer timer, BudgetListener listener) {
    this.fleet = fleet;
    this.timer = timer;
    this.listener = listener;
  }

  public static RedisBudgetStore open(
      RedisBudgetsConfig fleet, StoreTimer timer, BudgetConfig config, BudgetListener listener) {
    Map<String, ModelScriptConfig> configs = configs(config);
    RedisBudgetStore store = create(new GovernorFleetMember(fleet), timer, configs, listener);
    store.fleet.start();
    return store;
  }

  /** Creates a store whose connection is not open yet. */
  public static RedisBudgetStore create(
      GovernorFleetMember fleet,
      StoreTimer timer,
      Map<String, ModelScriptConfig> configs,
      BudgetListener listener) {
    RedisBudgetStore store = new RedisBudgetStore(fleet, timer, listener);
    store.use(configs);
    // Including removed models, whose settlements are sent.
    fleet.serve(() -> store.modelStores.byTag().values());
    return store;
  }

  /** Returns the connection of this node to the fleet; for tests. */
  public FleetConnection connection() {
    return fleet.connection();
  }

  /** Converts a configuration; limits that Redis cannot represent throw before any change. */
  public static Map<String, ModelScriptConfig> configs(BudgetConfig config) {
    Map<String, ModelScriptConfig> configs = new LinkedHashMap<>();
    config
        .models()
        .forEach(
            (model, budget) ->
                configs.put(model, ModelScriptConfig.of(model, budget, config.waitingList())));
    return configs;
  }

  private void use(Map<String, ModelScriptConfig> configs) {
    Map<String, RedisModelStore> byModel = new LinkedHashMap<>();
    configs.forEach(
        (model, each) ->
            byModel.put(
                model,
                everOpened.computeIfAbsent(
                    model, name -> new RedisModelStore(name, each, fleet, timer, listener))));
    Map<String, RedisModelStore> byTag = new HashMap<>();
    everOpened.forEach((model, store) -> byTag.put(BudgetStoreSupport.tagOf(model), store));
    modelStores = new RedisBudgetStore.ModelStores(Collections.unmodifiableMap(byModel), byTag);
  }

  /** Returns whether every call has completed. */
  public boolean isIdle() {
    return modelStores.byTag().values().stream().allMatch(RedisModelStore::isIdle);
  }

  // ---- calls

  private <T> CompletableFuture<T> open(Supplier<CompletableFuture<T>> question) {
    if (closed) {
      return CompletableFuture.failedFuture(new StoreClosedException(CLOSED));
    }
    try {
      return question.get();
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  private RedisModelStore modelStore(String model) {
    RedisModelStore store = modelStores.byModel().get(model);
    if (store == null) {
      throw BudgetStoreSupport.unknownModel(modelStores.byModel().keySet(), model);
    }
    return store;
  }

  /** Calls the store of the model that an id names; returns {@code absent} if there is none. */
  private <T> CompletableFuture<T> of(
      String kind,
      String id,
      T absent,
      BiFunction<RedisModelStore, String, CompletableFuture<T>> ask) {
    return open(
        () -> {
          Matcher parts = ID.matcher(id);
          RedisModelStore store =
              parts.matches() && kind.equals(parts.group(1))
                  ? modelStores.byTag().get(parts.group(2))
                  : null;
          return store == null
              ? CompletableFuture.completedFuture(absent)
              : ask.apply(store, parts.group(3));
        });
  }

  @Override
  public CompletableFuture<TokenDecision> request(TokenRequest request) {
    return open(() -> modelStore(request.model()).request(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> tryAcquire(TokenRequest request) {
    return open(() -> modelStore(request.model()).tryAcquire(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> find(TokenRequest request) {
    return open(() -> modelStore(request.model()).find(request));
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> poll(String ticket) {
    return of("t", ticket, Optional.empty(), RedisModelStore::poll);
  }

  @Override
  public CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    return of("t", ticket, Optional.empty(), RedisModelStore::await);
  }

  @Override
  public CompletableFuture<Boolean> cancel(String ticket) {
    return of("t", ticket, false, RedisModelStore::cancel);
  }

  @Override
  public CompletableFuture<Optional<TokenSettlement>> settle(
      String reservation, long actualTokens) {
    return open(
        () -> {
          BudgetStoreSupport.requireActual(actualTokens);
          return of(
              "r", reservation, Optional.empty(), (store, id) -> store.settle(id, actualTokens));
        });
  }

  @Override
  public CompletableFuture<Boolean> extend(String reservation) {
    return of("r", reservation, false, RedisModelStore::extend);
  }

  @Override
  public CompletableFuture<Optional<TokenOwner>> owner(String id) {
    return of(id.startsWith("t") ? "t" : "r", id, Optional.empty(), RedisModelStore::owner);
  }

  @Override
  public CompletableFuture<TokenExplanation> explain(TokenRequest request) {
    return open(() -> modelStore(request.model()).explain(request));
  }

  @Override
  public CompletableFuture<Void> adjust(String model, ProviderAdjustment adjustment) {
    return open(() -> CompletableFuture.allOf(modelStore(model).adjust(adjustment)));
  }

  /** Without an answer of Redis the configuration applies here at once, and to the fleet later. */
  @Override
  public synchronized CompletableFuture<Void> reload(BudgetConfig config) {
    return open(
        () -> {
          Map<String, ModelScriptConfig> configs = configs(config);
          Map<String, RedisModelStore> before = modelStores.byModel();
          use(configs);
          List<CompletableFuture<?>> calls = new ArrayList<>();
          configs.forEach((model, each) -> calls.add(accepted(modelStore(model).reload(each))));
          before.forEach(
              (model, store) -> {
                if (!configs.containsKey(model)) {
                  calls.add(accepted(store.remove()));
                }
              });
          return CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new));
        });
  }

  private static CompletableFuture<?> accepted(CompletableFuture<?> change) {
    return change.handle(
        (done, failure) -> {
          if (failure != null && !RedisFailure.isUnavailable(failure)) {
            throw new CompletionException(failure);
          }
          if (failure != null) {
            LOG.warn(
                "budgets: the new configuration applies on this node and is sent to Redis later: {}",
                failure.toString());
          }
          return true;
        });
  }

  @Override
  public CompletableFuture<WaitingListStatus> waitingList(String model, int offset, int limit) {
    return open(
        () -> {
          BudgetStoreSupport.requirePage(offset, limit);
          return modelStore(model).waitingList(offset, limit);
        });
  }

  @Override
  public CompletableFuture<GovernorStatus> status() {
    return open(
        () -> {
          Map<String, CompletableFuture<GovernorStatus.Model>> asked = new LinkedHashMap<>();
          modelStores.byModel().forEach((model, store) -> asked.put(model, store.status()));
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
      everOpened.values().forEach(store -> store.close(fleet.config().timeout()));
      fleet.close();
      timer.close();
    }
  }
}
