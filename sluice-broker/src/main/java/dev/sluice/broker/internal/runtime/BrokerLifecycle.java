package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.BrokerStatus;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import dev.sluice.broker.internal.util.Threads;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/*
 * Invariant: at most one runtime has the store open. After a failed write or sync nothing is
 * written or synced through the same open files again: a second fsync of a file would report
 * success for pages that the first one dropped. Recovery from a failure reads the log from the
 * beginning and writes its content to new files. After a full disk the broker itself does that,
 * after any other failure the next process.
 *
 * The status changes under the lock, by the table alone. The thread that reopens the store closes
 * the old runtime and recovers the new one outside of the lock.
 */

/**
 * Owns the {@link BrokerRuntime} of a broker and replaces it, with a reopened store, after the disk
 * was full; any other failure of the store stops the broker.
 *
 * <p>Thread-safe.
 */
public final class BrokerLifecycle {
  /** An event that may change the status of a broker. */
  enum Event {
    /** A write or a sync found no space. */
    NO_SPACE,
    /** The store failed otherwise, or the broker itself did. */
    FAULT,
    /** The store is open again. */
    REOPENED,
    /** The owner closes the broker. */
    CLOSE
  }

  /** An event that is not listed for a status leaves the status as it is. */
  private static final Map<BrokerStatus, Map<Event, BrokerStatus>> TRANSITIONS =
      new EnumMap<>(
          Map.of(
              BrokerStatus.RUNNING,
              Map.of(
                  Event.NO_SPACE, BrokerStatus.WAITING_FOR_SPACE,
                  Event.FAULT, BrokerStatus.STOPPED,
                  Event.CLOSE, BrokerStatus.CLOSED),
              BrokerStatus.WAITING_FOR_SPACE,
              Map.of(
                  Event.REOPENED, BrokerStatus.RUNNING,
                  Event.FAULT, BrokerStatus.STOPPED,
                  Event.CLOSE, BrokerStatus.CLOSED),
              BrokerStatus.STOPPED,
              Map.of(Event.CLOSE, BrokerStatus.CLOSED),
              BrokerStatus.CLOSED,
              Map.of()));

  private static final System.Logger LOG = System.getLogger(Broker.class.getName());
  private static final long FIRST_PAUSE_MILLIS = 250;

  /** Attempts become rarer, because each one that finds too little space has written in vain. */
  private static final long LONGEST_PAUSE_MILLIS = 4_000;

  private final Opener opener;
  private final BrokerConfig config;
  private final CompletableFuture<BrokerException> failure = new CompletableFuture<>();

  // Guarded by this; `status` and `current` are read without it.
  private volatile BrokerStatus status = BrokerStatus.RUNNING;
  private volatile BrokerRuntime current;
  private @Nullable Thread reopening;

  /** Opens the store of a broker; called again after the disk was full. */
  public interface Opener {
    /**
     * Opens the store.
     *
     * @throws StoreException if it cannot be opened
     */
    Store open();

    /** Whether the disk has the space that opening takes. */
    default boolean hasSpace() {
      return true;
    }
  }

  private BrokerLifecycle(Opener opener, BrokerConfig config) {
    this.opener = opener;
    this.config = config;
    this.current = recover();
  }

  /** Opens the store in {@code directory}. */
  public static BrokerLifecycle open(Path directory, BrokerConfig config) {
    return open(
        new Opener() {
          @Override
          public Store open() {
            return RocksStore.open(directory);
          }

          @Override
          public boolean hasSpace() {
            return RocksStore.hasSpaceToOpen(directory);
          }
        },
        config);
  }

  public static BrokerLifecycle open(Opener opener, BrokerConfig config) {
    try {
      BrokerLifecycle lifecycle = new BrokerLifecycle(opener, config);
      lifecycle.current.start();
      return lifecycle;
    } catch (StoreException unusable) {
      throw new BrokerException(Code.STORE_FAILED, unusable.getMessage(), unusable);
    }
  }

  private BrokerRuntime recover() {
    return BrokerRuntime.recover(opener.open(), config, this::failed);
  }

  /** The runtime for the next call; one that has ended refuses it with the reason. */
  public BrokerRuntime runtime() {
    return current;
  }

  public BrokerStatus status() {
    return status;
  }

  /** Completes with the reason when the broker has failed permanently; never if it is closed. */
  public CompletableFuture<BrokerException> failure() {
    return failure.copy();
  }

  /** Applies {@code event} and returns whether it changed the status. Called with the lock. */
  private boolean advance(Event event) {
    BrokerStatus next = TRANSITIONS.getOrDefault(status, Map.of()).get(event);
    if (next == null) {
      return false;
    }
    status = next;
    notifyAll();
    return true;
  }

  /** Ends a runtime that has failed; called by its threads, at least once. */
  private void failed(Throwable reason) {
    boolean noSpace = reason instanceof StoreException store && store.isNoSpace();
    BrokerRuntime failed;
    synchronized (this) {
      if (!advance(noSpace ? Event.NO_SPACE : Event.FAULT)) {
        return;
      }
      failed = current;
      if (noSpace) {
        reopening = new Thread(() -> reopen(failed), "sluice-reopen");
        reopening.setDaemon(true);
        reopening.start();
      }
    }
    if (noSpace) {
      LOG.log(
          System.Logger.Level.ERROR, "the disk is full; the broker waits for free space", reason);
      failed.end(noSpace(reason));
    } else {
      stop(failed, reason);
    }
  }

  private static BrokerException noSpace(Throwable reason) {
    return new BrokerException(
        Code.WAITING_FOR_SPACE,
        "the disk is full: the broker waits for free space and then resumes by itself",
        reason);
  }

  private void stop(BrokerRuntime failed, Throwable reason) {
    LOG.log(System.Logger.Level.ERROR, "the broker has failed and stops", reason);
    BrokerException told =
        new BrokerException(Code.STOPPED, "the broker has stopped: " + reason.getMessage(), reason);
    failed.end(told);
    // Not on a thread of the runtime: a dependent action may close the broker.
    Thread telling = new Thread(() -> failure.complete(told), "sluice-stopped");
    telling.setDaemon(true);
    telling.start();
  }

  /** Closes the failed runtime, and replaces it once there is space. */
  private void reopen(BrokerRuntime failed) {
    try {
      failed.abandon();
      long pause = FIRST_PAUSE_MILLIS;
      while (pauseWhileWaiting(pause)) {
        if (opener.hasSpace()) {
          if (tryReopen()) {
            return;
          }
          pause = Math.min(2 * pause, LONGEST_PAUSE_MILLIS);
        }
      }
    } catch (InterruptedException unexpected) {
      fault(unexpected);
    } catch (RuntimeException | Error fault) {
      fault(fault);
    }
  }

  /** Pauses for {@code millis}; returns false as soon as the status is another one. */
  private synchronized boolean pauseWhileWaiting(long millis) throws InterruptedException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    long left = millis;
    while (status == BrokerStatus.WAITING_FOR_SPACE && left > 0) {
      wait(left);
      left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    }
    return status == BrokerStatus.WAITING_FOR_SPACE;
  }

  /** Returns false if the disk is still full; throws if the store cannot be opened at all. */
  private boolean tryReopen() {
    BrokerRuntime next;
    try {
      next = recover();
    } catch (StoreException refused) {
      if (refused.isNoSpace()) {
        return false;
      }
      throw refused;
    }
    synchronized (this) {
      if (status == BrokerStatus.WAITING_FOR_SPACE) {
        // Before the status: a caller that reads RUNNING must find the new runtime.
        current = next;
        advance(Event.REOPENED);
        next.start();
        LOG.log(System.Logger.Level.INFO, "the disk has free space again; the broker resumes");
        return true;
      }
    }
    next.abandon();
    return true;
  }

  private void fault(Throwable reason) {
    synchronized (this) {
      if (!advance(Event.FAULT)) {
        return;
      }
    }
    stop(current, reason);
  }

  /** Closes the store once all calls are answered. Idempotent. */
  public void close() {
    Thread joined;
    synchronized (this) {
      advance(Event.CLOSE);
      joined = reopening;
    }
    if (joined != null) {
      Threads.join(joined);
    }
    current.close();
  }
}
