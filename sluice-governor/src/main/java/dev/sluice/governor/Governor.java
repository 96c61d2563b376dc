package dev.sluice.governor;

import dev.sluice.governor.local.LocalBudgetStore;
import dev.sluice.governor.monitor.GovernorMonitor;
import dev.sluice.governor.monitor.OutputEstimator;
import dev.sluice.governor.monitor.ProviderFeedback;
import dev.sluice.governor.spi.BudgetStoreSupport;
import dev.sluice.governor.spi.StoreTimer;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Decides who may call a model now, who waits, and for how long: over tokens and requests in a time
 * and requests at once, in one step, with a line that those in it can see. For any number of
 * threads.
 *
 * @since 0.1
 */
public final class Governor implements AutoCloseable {
  private final BudgetStore store;
  private final ModelRouter router;
  private final StoreTimer timer;
  private final GovernorMonitor watch;
  private final OutputEstimator estimator = new OutputEstimator();
  private final Map<String, ProviderFeedback> providers = new ConcurrentHashMap<>();
  private volatile BudgetConfig config;

  private Governor(BudgetConfig config, BudgetStore.Factory opener, StoreTimer timer) {
    this.config = config;
    this.timer = timer;
    this.watch = new GovernorMonitor(config, timer);
    this.store = opener.open(config, watch.listener());
    this.router = new ModelRouter(store);
    watch.start(store::status);
  }

  /**
   * Keeps everything in memory, and begins with full budgets.
   *
   * @param config the models
   * @return to be closed
   */
  public static Governor create(BudgetConfig config) {
    return create(config, StoreTimer.system());
  }

  /**
   * Keeps levels and reservations in a directory: a restart is no fresh burst.
   *
   * @param config the models
   * @param directory is made if it is not there
   * @return to be closed
   * @throws IllegalStateException if another governor uses it, or if it is damaged
   * @throws java.io.UncheckedIOException if it cannot be used
   */
  public static Governor open(BudgetConfig config, Path directory) {
    StoreTimer timer = StoreTimer.system();
    return new Governor(config, LocalBudgetStore.inDirectory(directory, timer), timer);
  }

  /**
   * Keeps everything in a store that others may share.
   *
   * @param config the models
   * @param opener of the store
   * @return to be closed
   */
  public static Governor over(BudgetConfig config, BudgetStore.Factory opener) {
    return new Governor(config, opener, StoreTimer.system());
  }

  /**
   * Keeps everything in memory, and goes by another time, such as that of a simulation.
   *
   * @param config the models
   * @param timer closed with the governor
   * @return to be closed
   */
  public static Governor create(BudgetConfig config, StoreTimer timer) {
    return new Governor(config, LocalBudgetStore.inMemory(timer), timer);
  }

  /**
   * Asks for tokens: granted, put in line, or refused, at once.
   *
   * @param model which model, or a route of several
   * @param tokens input and output together
   * @param priority its class
   * @return what became of it
   * @throws IllegalArgumentException if there is no such model or class, or no tokens
   */
  public TokenDecision request(String model, long tokens, String priority) {
    return request(TokenRequest.of(model, tokens, priority));
  }

  /**
   * Asks for tokens: granted, put in line, or refused, at once.
   *
   * @param request what for
   * @return what became of it
   * @throws IllegalArgumentException if there is no such model or class, or no tokens
   */
  public TokenDecision request(TokenRequest request) {
    List<String> route = route(request.model());
    return route == null
        ? Waits.get(store.request(estimated(request)))
        : router.request(equivalents(request, route));
  }

  /** Where it leads; null if it is a model. */
  private @Nullable List<String> route(String name) {
    BudgetConfig current = config;
    List<String> route = current.routes().get(name);
    if (route == null && !current.models().containsKey(name)) {
      Set<String> names = new LinkedHashSet<>(current.models().keySet());
      names.addAll(current.routes().keySet());
      throw BudgetStoreSupport.unknownModel(names, name);
    }
    return route;
  }

  private List<TokenRequest> equivalents(TokenRequest request, List<String> route) {
    return route.stream().map(model -> estimated(request.withModel(model))).toList();
  }

  /**
   * Lowers a reservation if the tenant has been using less than it asked for. The caller's own
   * expectation does not lower it further than that.
   */
  private TokenRequest estimated(TokenRequest request) {
    Long expected = request.expectedTokens();
    if (expected == null && !isEstimated(request.model())) {
      return request;
    }
    long observed = estimator.estimate(request.model(), request.tenant(), request.tokens());
    return request.withExpectedTokens(expected == null ? observed : Math.max(expected, observed));
  }

  private boolean isEstimated(String model) {
    ModelBudget budget = config.models().get(model);
    return budget != null && budget.estimateOutput();
  }

  /**
   * What would become of a request; nothing changes by this.
   *
   * @param request what for
   * @return what would happen now, and why
   * @throws IllegalArgumentException if there is no such model or class, or no tokens
   */
  public TokenExplanation explain(TokenRequest request) {
    List<String> route = route(request.model());
    return route == null
        ? Waits.get(store.explain(estimated(request)))
        : router.explain(equivalents(request, route));
  }

  /**
   * How a ticket stands. Until its grant is settled, the answer stays the same.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return empty if there is no such ticket any more
   */
  public Optional<TokenDecision> poll(String ticket) {
    return Waits.get(store.poll(ticket));
  }

  /**
   * What comes of a ticket. Whoever does not want to wait any longer cancels the future; the ticket
   * stays in line as if it had been polled then.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return completes when it is granted or refused; with nothing if there is no such ticket any
   *     more
   */
  public CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    return store.await(ticket);
  }

  /**
   * Leaves the line, or gives back what was granted.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return false if there is no such ticket any more
   */
  public boolean cancel(String ticket) {
    return Waits.get(store.cancel(ticket));
  }

  /**
   * Says what was used of a grant.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens what was used; 0 if nothing was
   * @return what became of the rest; empty if it was settled before or has ended
   * @throws IllegalArgumentException if it is less than 0
   */
  public Optional<TokenSettlement> settle(String reservation, long actualTokens) {
    Optional<TokenSettlement> settled = Waits.get(store.settle(reservation, actualTokens));
    settled.ifPresent(estimator::learn);
    return settled;
  }

  /**
   * Returns whose a ticket or a reservation is; its idle timer is not refreshed by this.
   *
   * @param id of {@link TokenDecision.Queued} or {@link TokenDecision.Granted}
   * @return empty if there is no such ticket or reservation any more
   */
  public Optional<TokenOwner> owner(String id) {
    return Waits.get(store.owner(id));
  }

  /**
   * The call goes on: the reservation lives as long again from now.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @return false if it has ended
   */
  public boolean extend(String reservation) {
    return Waits.get(store.extend(reservation));
  }

  /**
   * Tells how the provider answered: what it has left, or that it wants a pause, is gone by from
   * now on. Before {@link #settle}, so that what a refused call gives back is not granted at once.
   *
   * @param model whose provider
   * @param answer of any call
   * @throws IllegalArgumentException if there is no such model
   */
  public void feedback(String model, ProviderResponse answer) {
    Map<String, GovernorStatus.Model> models = Waits.get(store.status()).buckets();
    GovernorStatus.Model here = models.get(model);
    if (here == null) {
      throw new IllegalArgumentException(
          "model must be one of %s: %s".formatted(models.keySet(), model));
    }
    ProviderFeedback provider = providers.computeIfAbsent(model, unused -> new ProviderFeedback());
    ProviderAdjustment adjustment =
        provider.answer(answer, here.targetTpm(), here.available(), timer.now(), Instant.now());
    Waits.get(store.adjust(model, adjustment));
  }

  /**
   * Goes by another configuration from now on; levels, lines and reservations stay.
   *
   * @param other the models
   * @throws IllegalArgumentException if it cannot; nothing has changed then
   */
  public synchronized void reload(BudgetConfig other) {
    watch.reload(other);
    try {
      Waits.get(store.reload(other));
    } catch (RuntimeException refused) {
      watch.reload(config);
      throw refused;
    }
    config = other;
    providers.keySet().retainAll(other.models().keySet());
  }

  /**
   * Who is in line for a model. Nobody counts as seen by this.
   *
   * @param model which
   * @param offset how many to leave out, from the first on
   * @param limit how many to tell of, from 1 to {@link WaitingListStatus#MAX_TICKETS}
   * @return a part of the line
   * @throws IllegalArgumentException if there is no such model, or such part
   */
  public WaitingListStatus queue(String model, int offset, int limit) {
    return Waits.get(store.queue(model, offset, limit));
  }

  /**
   * How all models stand.
   *
   * @return at this moment
   */
  public GovernorStatus status() {
    GovernorStatus status = Waits.get(store.status());
    Map<String, GovernorStatus.Model> heard = new LinkedHashMap<>(status.buckets());
    providers.forEach(
        (model, provider) ->
            heard.computeIfPresent(
                model,
                (name, each) -> each.with(each.audit(), provider.standing(), each.alerts())));
    return watch.watched(new GovernorStatus(heard, status.closed(), status.timestamp()));
  }

  /**
   * Returns the models that decide nothing, because their journal cannot be written or read;
   * requests for them fail with an {@link IllegalStateException}. A model whose journal is damaged
   * stays closed until a {@link #reload} finds it repaired.
   *
   * @return the reason by model
   * @since 0.1
   */
  public Map<String, String> closedModels() {
    return store.closedModels();
  }

  /**
   * Returns the models that the configuration names.
   *
   * @return their names, including closed models
   * @since 0.1
   */
  public Set<String> models() {
    return config.models().keySet();
  }

  /**
   * Tries to reopen the models that a failure of the file system, such as a full disk, has closed;
   * to be called about once a second. Does nothing if there are none.
   *
   * @since 0.1
   */
  public void reopenModels() {
    store.reopen();
  }

  /**
   * What somebody should look at.
   *
   * @return of all models
   */
  public List<Alert> alerts() {
    return status().buckets().values().stream().flatMap(each -> each.alerts().stream()).toList();
  }

  /** Whoever is in line is told that it is over. */
  @Override
  public void close() {
    watch.close();
    store.close();
    timer.close();
  }
}
