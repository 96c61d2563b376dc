package dev.sluice.governor;

import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where a model's tokens are asked for: a clerk, for any number of threads, and time. */
final class ModelDesk {
  /*
   * Concurrency. The clerk is guarded by `lock`; futures are completed outside of it. Time goes on
   * with every call, and by the timer, which is set for the next moment at which somebody can go or
   * something ends.
   */
  private static final Logger LOG = LoggerFactory.getLogger(ModelDesk.class);

  /** A thread that wakes for every token would be busy with that; requests look anyway. */
  private static final long SOONEST_NANOS = 1_000_000;

  private static final int SPINS = 200;

  private final String model;
  private final GovernorTimer timer;
  private final Clerk clerk;
  private final ReentrantLock lock = new ReentrantLock();
  private long timerAt = Long.MAX_VALUE;

  /** Why nothing is decided here any more; written under the lock. */
  private volatile @Nullable String closed;

  /** Whether its journal is damaged; written before {@code closed}. */
  private boolean damaged;

  ModelDesk(
      String model,
      ModelBudget budget,
      DeskRules rules,
      GovernorTimer timer,
      BudgetListener listener) {
    this.model = model;
    this.timer = timer;
    this.clerk = new Clerk(model, budget, rules, listener, timer.now());
  }

  /** Does it at this moment; those who were granted something meanwhile are told elsewhere. */
  private <T> T atDesk(Supplier<T> work) {
    List<Clerk.News> told = List.of();
    List<CompletableFuture<Optional<Outcome>>> failed = List.of();
    lock();
    try {
      if (closed != null) {
        throw new IllegalStateException(closed);
      }
      long now = timer.now();
      try {
        clerk.begin(now);
        T result = work.get();
        clerk.tidy();
        return result;
      } finally {
        // Also if that was refused: time has gone on.
        told = clerk.takeNews();
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

  /** What is done under the lock takes less than a microsecond, and to be woken up takes ten. */
  private void lock() {
    for (int i = 0; i < SPINS; i++) {
      if (lock.tryLock()) {
        return;
      }
      Thread.onSpinWait();
    }
    lock.lock();
  }

  private void atDesk(Runnable work) {
    atDesk(
        () -> {
          work.run();
          return true;
        });
  }

  /** What cannot be written down must not be granted. */
  private List<CompletableFuture<Optional<Outcome>>> breakDown(UncheckedIOException failure) {
    closed = "model %s is closed: %s".formatted(model, failure.getMessage());
    LOG.error("model {} is closed, nothing is granted any more", model, failure);
    return clerk.waiters();
  }

  private void fail(List<CompletableFuture<Optional<Outcome>>> waiters) {
    waiters.forEach(
        waiter ->
            timer.execute(() -> waiter.completeExceptionally(new IllegalStateException(closed))));
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
    long look = clerk.nextLook();
    long at = look > now ? Math.max(look, now + SOONEST_NANOS) : now;
    if (at < timerAt) {
      timerAt = at;
      timer.after(at - now, () -> wake(at));
    }
  }

  private void wake(long due) {
    if (closed == null) {
      atDesk(
          () -> {
            // One that an earlier one replaced must not be set again, or they become ever more.
            timerAt = timerAt == due ? Long.MAX_VALUE : timerAt;
            clerk.drain();
          });
    }
  }

  /** Not under the lock, and not by whom it was asked: whoever waits may do anything. */
  private void tell(List<Clerk.News> told) {
    told.forEach(each -> timer.execute(() -> tell(each)));
  }

  private void tell(Clerk.News told) {
    boolean heard = false;
    for (CompletableFuture<Optional<Outcome>> waiter : told.waiters()) {
      heard |= waiter.complete(Optional.of(told.outcome()));
    }
    if (!heard && closed == null) {
      atDesk(() -> clerk.unheard(told.ticket().id));
    }
  }

  /**
   * Continues from the journal and writes to it from now on; if that fails, nothing has changed.
   */
  void keep(Clerk.LogOpener opener) {
    try {
      atDesk(() -> begin(opener));
    } catch (NotBegunException failed) {
      throw failed.why;
    }
  }

  private void begin(Clerk.LogOpener opener) {
    try {
      clerk.keep(opener);
    } catch (UncheckedIOException failed) {
      throw new NotBegunException(failed);
    }
  }

  /** Passes a failure through {@link #atDesk} that must not close the model: it was never open. */
  private static final class NotBegunException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final UncheckedIOException why;

    NotBegunException(UncheckedIOException why) {
      super(why);
      this.why = why;
    }
  }

  Outcome request(TokenRequest request) {
    return atDesk(() -> clerk.request(request));
  }

  Optional<Outcome> tryNow(TokenRequest request) {
    return atDesk(() -> clerk.tryNow(request));
  }

  Optional<Outcome> find(TokenRequest request) {
    return atDesk(() -> clerk.find(request));
  }

  Optional<Outcome> poll(String ticket) {
    return atDesk(() -> clerk.poll(ticket));
  }

  /** Completes when it is decided; meanwhile nobody need ask for it. */
  CompletableFuture<Optional<Outcome>> await(String ticket) {
    CompletableFuture<Optional<Outcome>> waiter = new CompletableFuture<>();
    Optional<Outcome> standing = atDesk(() -> clerk.attend(ticket, waiter));
    if (!(standing.orElse(null) instanceof Outcome.Queued)) {
      waiter.complete(standing);
    }
    var unused =
        waiter.whenComplete(
            (outcome, failure) -> {
              if (failure != null && closed == null) {
                atDesk(() -> clerk.leave(ticket, waiter));
              }
            });
    return waiter;
  }

  boolean cancel(String ticket) {
    return atDesk(() -> clerk.cancel(ticket));
  }

  Optional<Settlement> settle(String reservation, long actual) {
    return atDesk(() -> clerk.settle(reservation, actual));
  }

  boolean extend(String reservation) {
    return atDesk(() -> clerk.extend(reservation));
  }

  Optional<TokenOwner> owner(String id) {
    return atDesk(() -> clerk.owner(id));
  }

  void adjust(Adjustment adjustment) {
    atDesk(() -> clerk.adjust(adjustment));
  }

  void reload(ModelBudget budget, DeskRules rules) {
    atDesk(() -> clerk.reload(budget, rules));
  }

  void refuseAll(Outcome.Reason why) {
    atDesk(() -> clerk.refuseAll(why));
  }

  Explanation explain(TokenRequest request) {
    return atDesk(() -> clerk.explain(request));
  }

  ModelQueue queue(int offset, int limit) {
    return atDesk(() -> clerk.queue(offset, limit));
  }

  /** Empty if it is closed. */
  Optional<GovernorStatus.Model> status() {
    return closed == null ? Optional.of(atDesk(clerk::status)) : Optional.empty();
  }

  /** {@link StandInStore#unheard}. */
  void unheard(String ticket) {
    atDesk(() -> clerk.unheard(ticket));
  }

  /** Decides nothing any more; who waits for a ticket is told elsewhere. */
  OpenWork handOver() {
    return atDesk(
        () -> {
          closed = "another store decides for model " + model;
          return clerk.openWork();
        });
  }

  /** Nothing is decided here any more, and whoever is in line is told so. */
  void close() {
    try {
      if (closed == null) {
        refuseAll(Outcome.Reason.CLOSED);
      }
    } catch (UncheckedIOException broken) {
      LOG.debug("model {} was closed by this", model, broken);
    }
    List<CompletableFuture<Optional<Outcome>>> left;
    lock.lock();
    try {
      if (closed == null) {
        closed = "the governor is closed";
      }
      left = clerk.waiters();
      clerk.close();
    } finally {
      lock.unlock();
    }
    fail(left);
  }
}
