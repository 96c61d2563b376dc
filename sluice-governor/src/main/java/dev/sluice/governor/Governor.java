package dev.sluice.governor;

import dev.sluice.NanoClock;
import dev.sluice.governor.internal.local.LocalBudgetStore;
import dev.sluice.governor.internal.monitor.GovernorMonitor;
import dev.sluice.governor.spi.StoreTimer;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decides which requests to a model may go now, which wait, and for how long: over tokens, requests
 * per time and concurrent requests at once, with a waiting list that callers can see.
 *
 * <p>Thread-safe. Methods return futures and do not wait for tokens or for a remote store; a store
 * in this process decides, and writes its journal, on the calling thread. {@link #blocking()} has
 * the same methods with plain results.
 *
 * <p>Futures fail with {@link IllegalArgumentException} for an unknown model or priority class or a
 * value out of range, and with {@link IllegalStateException} for a model whose journal has failed.
 * Futures of {@link #acquire} and {@link #await} that have to wait complete on a thread of the
 * governor, where dependents may block. Other futures may complete on a thread of the store, where
 * dependents must not block.
 *
 * @since 0.1
 */
public final class Governor implements AutoCloseable {
  private static final long REOPEN_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final BudgetStore store;
  private final TokenRequests requests;
  private final StoreTimer timer;
  private final GovernorMonitor monitor;
  private final ProviderResponses responses;
  private final SerialOperations reloads = new SerialOperations();
  private final Blocking blocking = new Blocking(this);
  private volatile BudgetConfig config;
  private volatile boolean closed;

  private Governor(BudgetConfig config, BudgetStore.Factory factory, StoreTimer timer) {
    this.config = config;
    this.timer = timer;
    this.monitor = new GovernorMonitor(config, timer);
    this.store = factory.open(config, monitor.listener());
    this.requests = new TokenRequests(store);
    this.responses = new ProviderResponses(store, timer);
    monitor.start(store::status);
    reopenLater();
  }

  /** Reopens closed models about once a second; files are not read on the timer's thread. */
  private void reopenLater() {
    timer.schedule(
        REOPEN_NANOS,
        () -> {
          if (!closed) {
            if (!store.closedModels().isEmpty()) {
              timer.execute(store::reopen);
            }
            reopenLater();
          }
        });
  }

  /**
   * Creates a governor that keeps everything in memory and begins with full budgets.
   *
   * @param config the models
   * @return the governor, to be closed
   */
  public static Governor create(BudgetConfig config) {
    return builder(config).build();
  }

  /**
   * Opens a governor that keeps levels and reservations in a directory: a restart does not refill
   * the budgets.
   *
   * @param config the models
   * @param directory created if it does not exist
   * @return the governor, to be closed
   * @throws IllegalStateException if another governor uses the directory, or if it is damaged
   * @throws java.io.UncheckedIOException if the directory cannot be used
   */
  public static Governor open(BudgetConfig config, Path directory) {
    return builder(config).directory(directory).build();
  }

  /**
   * Returns a builder of a governor, which keeps everything in memory unless told otherwise.
   *
   * @param config the models
   * @return a new builder
   */
  public static Builder builder(BudgetConfig config) {
    return new Builder(config);
  }

  /**
   * Requests tokens: grants, queues or denies the request, and never waits for tokens.
   *
   * @param request the request; its model may be a route of several models
   * @return the decision
   */
  public CompletableFuture<TokenDecision> request(TokenRequest request) {
    return Futures.start(() -> requests.request(config, request));
  }

  /**
   * Requests tokens and waits until the request is granted or denied. Canceling the future cancels
   * the ticket or returns the grant; so does a failure, such as a timeout, that the caller
   * completes it with.
   *
   * @param request the request; its model may be a route of several models
   * @return the decision; never {@link TokenDecision.Queued}
   */
  public CompletableFuture<TokenDecision> acquire(TokenRequest request) {
    return new Acquisition(store, request, timer).start(request(request));
  }

  /**
   * Predicts the decision for a request and changes nothing.
   *
   * @param request the request
   * @return the decision that the request would get now, and the reason
   */
  public CompletableFuture<TokenExplanation> explain(TokenRequest request) {
    return Futures.start(() -> requests.explain(config, request));
  }

  /**
   * Returns the present decision for a ticket. A grant is returned again until it is settled.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return the decision; empty if there is no such ticket any more
   */
  public CompletableFuture<Optional<TokenDecision>> poll(String ticket) {
    return store.poll(ticket);
  }

  /**
   * Waits until a ticket is granted or denied. Canceling the future ends the wait only: the ticket
   * stays in the waiting list as if it had been polled at that moment.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return the decision; empty if there is no such ticket any more
   */
  public CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    return store.await(ticket);
  }

  /**
   * Removes a ticket from the waiting list, or returns its grant.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return false if there is no such ticket any more
   */
  public CompletableFuture<Boolean> cancel(String ticket) {
    return store.cancel(ticket);
  }

  /**
   * Settles a grant: unused tokens return to the budget, overuse is charged within bounds.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens the tokens that were used, possibly 0
   * @return the settlement; empty if the reservation was settled before or has ended
   */
  public CompletableFuture<Optional<TokenSettlement>> settle(
      String reservation, long actualTokens) {
    return store
        .settle(reservation, actualTokens)
        .thenApply(
            settled -> {
              settled.ifPresent(requests::learn);
              return settled;
            });
  }

  /**
   * Returns the owner of a ticket or a reservation; does not refresh the ticket's idle timer.
   *
   * @param ticketOrReservation of {@link TokenDecision.Queued} or {@link TokenDecision.Granted}
   * @return empty if there is no such ticket or reservation any more
   */
  public CompletableFuture<Optional<TokenOwner>> owner(String ticketOrReservation) {
    return store.owner(ticketOrReservation);
  }

  /**
   * Prolongs a reservation: its timeout starts again now.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @return false if the reservation has ended
   */
  public CompletableFuture<Boolean> extend(String reservation) {
    return store.extend(reservation);
  }

  /**
   * Reports the status and the rate-limit headers of a provider's response, which reduce the
   * budget. To be called, and awaited, before {@link #settle}, so that the tokens that a refused
   * call returns are not granted at once.
   *
   * @param model the model of the provider
   * @param response of any call
   * @return completes when the budget is adjusted
   */
  public CompletableFuture<Void> feedback(String model, ProviderResponse response) {
    return responses.report(model, response);
  }

  /**
   * Replaces the configuration; levels, waiting lists and reservations stay. Reloads run one after
   * the other.
   *
   * @param config the models
   * @return completes when the configuration is in force; fails with {@link
   *     IllegalArgumentException} if it cannot be used, and nothing has changed then
   */
  public CompletableFuture<Void> reload(BudgetConfig config) {
    return reloads.run(() -> replace(config));
  }

  private CompletableFuture<Void> replace(BudgetConfig next) {
    monitor.reload(next);
    return Futures.start(() -> store.reload(next))
        .whenComplete(
            (done, failure) -> {
              if (failure == null) {
                config = next;
                responses.retain(next.models().keySet());
              } else {
                monitor.reload(config);
              }
            });
  }

  /**
   * Returns a part of the waiting list of a model; does not refresh the idle timers of its tickets.
   *
   * @param model the model
   * @param offset the number of tickets to skip, from the first
   * @param max the most tickets to return, from 1 to {@link WaitingListStatus#MAX_TICKETS}
   * @return a part of the waiting list
   */
  public CompletableFuture<WaitingListStatus> waitingList(String model, int offset, int max) {
    return store.waitingList(model, offset, max);
  }

  /**
   * Returns the state of all models.
   *
   * @return the state at this moment
   */
  public CompletableFuture<GovernorStatus> status() {
    return store.status().thenApply(responses::complete).thenApply(monitor::watched);
  }

  /**
   * Returns the models that decide nothing because their journal cannot be written or read;
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
   * Tries at once to reopen the models that a failure of the file system, such as a full disk, has
   * closed. The governor also tries it by itself about once a second.
   *
   * @since 0.1
   */
  public void reopenModels() {
    store.reopen();
  }

  /**
   * Returns the same methods with plain results.
   *
   * @return a view of this governor; always the same
   */
  public Blocking blocking() {
    return blocking;
  }

  /** Denies all waiters with {@link TokenDecision.Reason#CLOSED} and releases the store. */
  @Override
  public void close() {
    closed = true;
    monitor.close();
    store.close();
    timer.close();
  }

  /** Builds a {@link Governor}. Not thread-safe. */
  public static final class Builder {
    private final BudgetConfig config;
    private @Nullable Path directory;
    private BudgetStore.@Nullable Factory store;
    private NanoClock clock = NanoClock.system();

    private Builder(BudgetConfig config) {
      this.config = config;
    }

    /**
     * Keeps levels and reservations in a directory; see {@link Governor#open}.
     *
     * @param path created if it does not exist
     * @return this
     */
    public Builder directory(Path path) {
      directory = path;
      return this;
    }

    /**
     * Keeps everything in a store that other governors may share.
     *
     * @param factory opens the store
     * @return this
     */
    public Builder store(BudgetStore.Factory factory) {
      store = factory;
      return this;
    }

    /**
     * Sets the clock; by default, that of the system. On a {@link dev.sluice.ManualClock} waiters
     * are granted on the thread that advances it. A store that others share has its own time.
     *
     * @param source of the present time, within 146 years of zero
     * @return this
     */
    public Builder clock(NanoClock source) {
      clock = source;
      return this;
    }

    /**
     * Opens the governor.
     *
     * @return the governor, to be closed
     * @throws IllegalArgumentException if the clock is out of range
     * @throws IllegalStateException if both a directory and a store are set, if another governor
     *     uses the directory, or if it is damaged
     * @throws java.io.UncheckedIOException if the directory cannot be used
     */
    public Governor build() {
      if (directory != null && store != null) {
        throw new IllegalStateException("directory and store must not both be set");
      }
      StoreTimer timer = StoreTimer.of(clock);
      return new Governor(config, store == null ? local(timer) : store, timer);
    }

    private BudgetStore.Factory local(StoreTimer timer) {
      return directory == null
          ? LocalBudgetStore.inMemory(timer)
          : LocalBudgetStore.inDirectory(directory, timer);
    }
  }

  /**
   * The methods of a {@link Governor} with plain results. Thread-safe.
   *
   * <p>All methods block until the store has answered, {@link #acquire} and {@link #await} until
   * the request is decided. They throw what the futures of the governor fail with.
   *
   * @since 0.1
   */
  public static final class Blocking {
    private final Governor governor;

    private Blocking(Governor governor) {
      this.governor = governor;
    }

    /** Requests tokens; see {@link Governor#request}. */
    public TokenDecision request(TokenRequest request) {
      return Futures.join(governor.request(request));
    }

    /**
     * Requests tokens and blocks until the request is granted or denied; see {@link
     * Governor#acquire}.
     *
     * @throws InterruptedException if the thread is interrupted; the ticket is canceled then
     */
    public TokenDecision acquire(TokenRequest request) throws InterruptedException {
      CompletableFuture<TokenDecision> decision = governor.acquire(request);
      try {
        return Futures.get(decision);
      } catch (InterruptedException interrupted) {
        if (decision.cancel(false)) {
          throw interrupted;
        }
        // It was decided at the last moment; the grant must not be lost.
        Thread.currentThread().interrupt();
        return Futures.join(decision);
      }
    }

    /** Returns the present decision for a ticket; see {@link Governor#poll}. */
    public Optional<TokenDecision> poll(String ticket) {
      return Futures.join(governor.poll(ticket));
    }

    /**
     * Blocks until a ticket is granted or denied; see {@link Governor#await}.
     *
     * @throws InterruptedException if the thread is interrupted; the ticket stays in the waiting
     *     list then
     */
    public Optional<TokenDecision> await(String ticket) throws InterruptedException {
      CompletableFuture<Optional<TokenDecision>> decision = governor.await(ticket);
      try {
        return Futures.get(decision);
      } catch (InterruptedException interrupted) {
        decision.cancel(false);
        throw interrupted;
      }
    }

    /** Cancels a ticket; see {@link Governor#cancel}. */
    public boolean cancel(String ticket) {
      return Futures.join(governor.cancel(ticket));
    }

    /** Settles a grant; see {@link Governor#settle}. */
    public Optional<TokenSettlement> settle(String reservation, long actualTokens) {
      return Futures.join(governor.settle(reservation, actualTokens));
    }

    /** Prolongs a reservation; see {@link Governor#extend}. */
    public boolean extend(String reservation) {
      return Futures.join(governor.extend(reservation));
    }

    /** Predicts the decision for a request; see {@link Governor#explain}. */
    public TokenExplanation explain(TokenRequest request) {
      return Futures.join(governor.explain(request));
    }

    /** Returns the owner of a ticket or a reservation; see {@link Governor#owner}. */
    public Optional<TokenOwner> owner(String ticketOrReservation) {
      return Futures.join(governor.owner(ticketOrReservation));
    }

    /** Reports a provider's response; see {@link Governor#feedback}. */
    public void feedback(String model, ProviderResponse response) {
      Futures.join(governor.feedback(model, response));
    }

    /** Returns a part of the waiting list of a model; see {@link Governor#waitingList}. */
    public WaitingListStatus waitingList(String model, int offset, int max) {
      return Futures.join(governor.waitingList(model, offset, max));
    }

    /** Returns the state of all models; see {@link Governor#status}. */
    public GovernorStatus status() {
      return Futures.join(governor.status());
    }

    /** Replaces the configuration; see {@link Governor#reload}. */
    public void reload(BudgetConfig config) {
      Futures.join(governor.reload(config));
    }
  }
}
