package dev.sluice.governor.local;

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
import dev.sluice.governor.engine.BudgetEngine;
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
   * Concurrency. The engine is guarded by `lock`; futures are completed outside of it. Time goes on
   * with every call, and by the timer, which is set for the next moment at which somebody can go or
   * something ends.
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

  /** Why nothing is decided here any more; written under the lock. */
  private volatile @Nullable String closed;

  /** Whether its journal is damaged; written before {@code closed}. */
  private boolean damaged;

  LocalModelStore(
      String model,
      ModelBudget budget,
      WaitingListConfig rules,
      StoreTimer timer,
      BudgetListener listener) {
    this.model = model;
    this.timer = timer;
    this.engine = new BudgetEngine(model, budget, rules, listener, timer.nanoTime());
  }

  /**
   * Runs {@code work} under the lock at the present time, then completes the waiters outside it.
   */
  private <T> T locked(Supplier<T> work) {
    List<BudgetEngine.TicketDecision> told = List.of();
    List<CompletableFuture<Optional<TokenDecision>>> failed = List.of();
    lock();
    try {
      if (closed != null) {
        throw new StoreClosedException(closed);
      }
      long now = timer.nanoTime();
      try {
        engine.begin(now);
        T result = work.get();
        engine.tidy();
        return result;
      } finally {
        // Also if that was refused: time has gone on.
        told = engine.takeNews();
        setTimer(now);
      }
    } catch (UncheckedIOException failure) {
      failed = breakDown(failure);
      throw failure;
    } finally {
      lock.unlock();
      tell(told);
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
  private List<CompletableFuture<Optional<TokenDecision>>> breakDown(UncheckedIOException failure) {
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
  @Nullable String whyClosed() {
    return closed;
  }

  /** Returns whether the file system closed it and may have recovered; damage does not. */
  boolean mayReopen() {
    return closed != null && !damaged;
  }

  /** Closes this model, because its journal cannot be read. */
  void shut(RuntimeException unreadable) {
    lock.lock();
    try {
      damaged = !(unreadable instanceof UncheckedIOException);
      closed = "model %s is closed: %s".formatted(model, unreadable.getMessage());
    } finally {
      lock.unlock();
    }
  }

  private void setTimer(long now) {
    long look = engine.nextLook();
    long at = look > now ? Math.max(look, now + SOONEST_NANOS) : now;
    if (at < timerAt) {
      timerAt = at;
      timer.after(at - now, () -> wake(at));
    }
  }

  private void wake(long due) {
    if (closed == null) {
      locked(
          () -> {
            // One that an earlier one replaced must not be set again, or they become ever more.
            timerAt = timerAt == due ? Long.MAX_VALUE : timerAt;
            engine.drain();
          });
    }
  }

  /** Completes waiters without the lock and on other threads: their dependents may block. */
  private void tell(List<BudgetEngine.TicketDecision> told) {
    told.forEach(each -> timer.execute(() -> tell(each)));
  }

  private void tell(BudgetEngine.TicketDecision told) {
    boolean heard = false;
    for (CompletableFuture<Optional<TokenDecision>> waiter : told.waiters()) {
      heard |= waiter.complete(Optional.of(told.outcome()));
    }
    if (!heard && closed == null) {
      locked(() -> engine.unheard(told.ticket().id));
    }
  }

  /**
   * Continues from the journal and writes to it from now on; if that fails, nothing has changed.
   */
  void keep(BudgetEngine.GrantLogFactory opener) {
    try {
      locked(() -> begin(opener));
    } catch (LocalModelStore.EngineClosedException failed) {
      throw failed.why;
    }
  }

  private void begin(BudgetEngine.GrantLogFactory opener) {
    try {
      engine.keep(opener);
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

  /** Completes when it is decided; meanwhile nobody need ask for it. */
  CompletableFuture<Optional<TokenDecision>> await(String ticket) {
    CompletableFuture<Optional<TokenDecision>> waiter = new CompletableFuture<>();
    Optional<TokenDecision> standing = locked(() -> engine.attend(ticket, waiter));
    if (!(standing.orElse(null) instanceof TokenDecision.Queued)) {
      waiter.complete(standing);
    }
    var unused =
        waiter.whenComplete(
            (outcome, failure) -> {
              if (failure != null && closed == null) {
                locked(() -> engine.leave(ticket, waiter));
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

  void reload(ModelBudget budget, WaitingListConfig rules) {
    locked(() -> engine.reload(budget, rules));
  }

  void refuseAll(TokenDecision.Reason why) {
    locked(() -> engine.refuseAll(why));
  }

  TokenExplanation explain(TokenRequest request) {
    return locked(() -> engine.explain(request));
  }

  WaitingListStatus waitingList(int offset, int limit) {
    return locked(() -> engine.waitingList(offset, limit));
  }

  /** Empty if it is closed. */
  Optional<GovernorStatus.Model> status() {
    return closed == null ? Optional.of(locked(engine::status)) : Optional.empty();
  }

  /** {@link OutageBudgetStore#unheard}. */
  void unheard(String ticket) {
    locked(() -> engine.unheard(ticket));
  }

  /** Ends all decisions; the next store completes the waiters. */
  StoreSnapshot handOver() {
    return locked(
        () -> {
          closed = "another store decides for model " + model;
          return engine.openWork();
        });
  }

  /** Denies all waiters and decides nothing any more. */
  void close() {
    try {
      if (closed == null) {
        refuseAll(TokenDecision.Reason.CLOSED);
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
