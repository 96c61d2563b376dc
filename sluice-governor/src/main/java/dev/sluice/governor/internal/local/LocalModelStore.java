package dev.sluice.governor.internal.local;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenOwner;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.governor.WaitingListStatus;
import dev.sluice.governor.internal.engine.BudgetEngine;
import dev.sluice.governor.spi.OutageBudgetStore;
import dev.sluice.governor.spi.StoreClosedException;
import dev.sluice.governor.spi.StoreSnapshot;
import dev.sluice.governor.spi.StoreTimer;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The store of one model: its engine behind a lock, with a timer and a journal. Thread-safe. */
final class LocalModelStore {
  /*
   * Concurrency. The engine is guarded by `lock`; futures are completed outside of it. Time
   * advances with every call, and by the timer, which is set for the next time at which a waiter
   * can be granted or a ticket or grant expires.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LocalModelStore.class);

  /** A thread that wakes for every token would be busy with that; requests look anyway. */
  private static final long SOONEST_NANOS = 1_000_000;

  private static final int SPINS = 200;

  private final String model;
  private final StoreTimer timer;
  private final BudgetEngine engine;
  private final ReentrantLock lock = new ReentrantLock();
  private long timerAt = Long.MAX_VALUE;

  /** The reason for which the model is closed; written under the lock. */
  private volatile @Nullable String closed;

  /** True if its journal is damaged; written before {@code closed}. */
  private boolean damaged;

  LocalModelStore(
      String model,
      ModelBudget budget,
      WaitingListConfig config,
      StoreTimer timer,
      BudgetListener listener) {
    this.model = model;
    this.timer = timer;
    this.engine = new BudgetEngine(model, budget, config, listener, timer.nanoTime());
  }

  /**
   * Runs {@code work} under the lock at the present time, then completes the waiters outside it.
   */
  private <T> T locked(Supplier<T> work) {
    List<BudgetEngine.TicketDecision> decided = List.of();
    List<CompletableFuture<Optional<TokenDecision>>> failed = List.of();
    lock();
    try {
      if (closed != null) {
        throw new StoreClosedException(closed);
      }
      long now = timer.nanoTime();
      try {
        engine.advanceTo(now);
        T result = work.get();
        engine.compactLog();
        return result;
      } finally {
        // Even after a denial: time has advanced.
        decided = engine.takeUndelivered();
        setTimer(now);
      }
    } catch (UncheckedIOException failure) {
      failed = closeAfter(failure);
      throw failure;
    } finally {
      lock.unlock();
      deliver(decided);
      fail(failed);
    }
  }

  /** Spins first: work under the lock takes less than a microsecond, waking up takes ten. */
  private void lock() {
    for (int i = 0; i < SPINS; i++) {
      if (lock.tryLock()) {
        return;
      }
      Thread.onSpinWait();
    }
    lock.lock();
  }

  private void locked(Runnable work) {
    locked(
        () -> {
          work.run();
          return true;
        });
  }

  /** Closes the model: a grant that cannot be logged must not be made. */
  private List<CompletableFuture<Optional<TokenDecision>>> closeAfter(
      UncheckedIOException failure) {
    closed = "model %s is closed: %s".formatted(model, failure.getMessage());
    LOG.error("model {} is closed and grants nothing", model, failure);
    return engine.waiters();
  }

  private void fail(List<CompletableFuture<Optional<TokenDecision>>> waiters) {
    if (waiters.isEmpty()) {
      return;
    }
    String reason = Objects.requireNonNull(closed);
    waiters.forEach(
        waiter ->
            timer.execute(() -> waiter.completeExceptionally(new StoreClosedException(reason))));
  }

  boolean isClosed() {
    return closed != null;
  }

  /** Returns why this model is closed; null if it is open. */
  @Nullable String closedReason() {
    return closed;
  }

  /** Returns whether the file system closed it and may have recovered; damage does not. */
  boolean mayReopen() {
    return closed != null && !damaged;
  }

  /** Closes this model, because its journal cannot be read. */
  void closeUnreadable(RuntimeException unreadable) {
    lock.lock();
    try {
      damaged = !(unreadable instanceof UncheckedIOException);
      closed = "model %s is closed: %s".formatted(model, unreadable.getMessage());
    } finally {
      lock.unlock();
    }
  }

  private void setTimer(long now) {
    long event = engine.nextEventNanos();
    long at = event > now ? Math.max(event, now + SOONEST_NANOS) : now;
    if (at < timerAt) {
      timerAt = at;
      timer.schedule(at - now, () -> wake(at));
    }
  }

  private void wake(long due) {
    if (closed == null) {
      locked(
          () -> {
            // A timer that an earlier one replaced must not be set again, or timers would multiply.
            timerAt = timerAt == due ? Long.MAX_VALUE : timerAt;
            engine.drain();
          });
    }
  }

  /** Completes waiters without the lock and on other threads: their dependents may block. */
  private void deliver(List<BudgetEngine.TicketDecision> decided) {
    decided.forEach(each -> timer.execute(() -> deliver(each)));
  }

  private void deliver(BudgetEngine.TicketDecision decided) {
    boolean delivered = false;
    for (CompletableFuture<Optional<TokenDecision>> waiter : decided.waiters()) {
      delivered |= waiter.complete(Optional.of(decided.outcome()));
    }
    if (!delivered && closed == null) {
      locked(() -> engine.undelivered(decided.ticket().id));
    }
  }

  /**
   * Continues from the journal and writes to it from now on; if that fails, nothing has changed.
   */
  void attachLog(BudgetEngine.GrantLogFactory opener) {
    try {
      locked(() -> attach(opener));
    } catch (LocalModelStore.EngineClosedException failed) {
      throw failed.why;
    }
  }

  private void attach(BudgetEngine.GrantLogFactory opener) {
    try {
      engine.attachLog(opener);
    } catch (UncheckedIOException failed) {
      throw new LocalModelStore.EngineClosedException(failed);
    }
  }

  /** Passes a failure through {@link #locked} that must not close the model: it was never open. */
  private static final class EngineClosedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final UncheckedIOException why;

    EngineClosedException(UncheckedIOException why) {
      super(why);
      this.why = why;
    }
  }

  TokenDecision request(TokenRequest request) {
    return locked(() -> engine.request(request));
  }

  Optional<TokenDecision> tryAcquire(TokenRequest request) {
    return locked(() -> engine.tryAcquire(request));
  }

  Optional<TokenDecision> find(TokenRequest request) {
    return locked(() -> engine.find(request));
  }

  Optional<TokenDecision> poll(String ticket) {
    return locked(() -> engine.poll(ticket));
  }

  /** Completes when the ticket is decided; until then its idle timer does not run. */
  CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    CompletableFuture<Optional<TokenDecision>> waiter = new CompletableFuture<>();
    Optional<TokenDecision> present = locked(() -> engine.subscribe(ticket, waiter));
    if (!(present.orElse(null) instanceof TokenDecision.Queued)) {
      waiter.complete(present);
    }
    var unused =
        waiter.whenComplete(
            (outcome, failure) -> {
              if (failure != null && closed == null) {
                locked(() -> engine.unsubscribe(ticket, waiter));
              }
            });
    return waiter;
  }

  boolean cancel(String ticket) {
    return locked(() -> engine.cancel(ticket));
  }

  Optional<TokenSettlement> settle(String reservation, long actual) {
    return locked(() -> engine.settle(reservation, actual));
  }

  boolean extend(String reservation) {
    return locked(() -> engine.extend(reservation));
  }

  Optional<TokenOwner> owner(String id) {
    return locked(() -> engine.owner(id));
  }

  void adjust(ProviderAdjustment adjustment) {
    locked(() -> engine.adjust(adjustment));
  }

  void reload(ModelBudget budget, WaitingListConfig config) {
    locked(() -> engine.reload(budget, config));
  }

  void denyAll(TokenDecision.Reason why) {
    locked(() -> engine.denyAll(why));
  }

  TokenExplanation explain(TokenRequest request) {
    return locked(() -> engine.explain(request));
  }

  WaitingListStatus waitingList(int offset, int limit) {
    return locked(() -> engine.waitingList(offset, limit));
  }

  /** Returns the state of the model; empty if it is closed. */
  Optional<GovernorStatus.Model> status() {
    return closed == null ? Optional.of(locked(engine::status)) : Optional.empty();
  }

  /** {@link OutageBudgetStore#undelivered}. */
  void undelivered(String ticket) {
    locked(() -> engine.undelivered(ticket));
  }

  /** Ends all decisions; the next store completes the waiters. */
  StoreSnapshot handOver() {
    return locked(
        () -> {
          closed = "another store decides for model " + model;
          return engine.snapshot();
        });
  }

  /** Denies all waiters and decides nothing any more. */
  void close() {
    try {
      if (closed == null) {
        denyAll(TokenDecision.Reason.CLOSED);
      }
    } catch (UncheckedIOException broken) {
      LOG.debug("model {} was closed by this", model, broken);
    }
    List<CompletableFuture<Optional<TokenDecision>>> left;
    lock.lock();
    try {
      if (closed == null) {
        closed = "the governor is closed";
      }
      left = engine.waiters();
      engine.close();
    } finally {
      lock.unlock();
    }
    fail(left);
  }
}
