package dev.sluice.broker.internal.hooks;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import java.time.Duration;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The threads on which scripts run: neither callers nor the engine wait for a script.
 *
 * <p>Thread-safe; only {@link #drain} blocks.
 */
public final class HookExecutor {
  /*
   * Fairness. The kinds of work share the threads. Calls to enqueue are fair by account, and the
   * queues of an account take turns; calls without an account, on_failure and redrives are fair by
   * queue, because it is not known whose they are. A call costs its runs, but at most MAX_COST:
   * HookBudget allows it no more than so many runs that use all they may.
   *
   * Order. The tasks of one kind and queue run one at a time, in the order in which they came. So
   * the calls of one queue reach the engine in that order, and hold one thread at most.
   *
   * Bounds. Calls to enqueue are refused beyond MAX_CALLS of a queue, half of maxBytes of a queue
   * or of an account, or maxBytes in all. The last quarter of these is for accounts that hold at
   * most a SMALL_SHARE, so that two accounts with half each do not hold everything. A call is
   * taken, however large, if nothing else waits. Everything else (on_failure, redrive) is about
   * messages that the broker already holds, so it is bounded by them, and cannot be refused.
   *
   * Threads. Whenever a task is ready, all threads are busy or one is on its way to look.
   */

  /** Calls of one queue that may wait for their scripts, the one that runs included. */
  public static final int MAX_CALLS = 1_000;

  /** The share of an account in the last quarter of maxBytes: one part in so many of all. */
  private static final int SMALL_SHARE = 64;

  /** The most runs of a script that a task is charged for. */
  private static final int MAX_COST = 50;

  private final ExecutorService threads;
  private final int maxThreads;
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition left = lock.newCondition();

  /** By queue; changed under the lock, read without it. */
  private final Map<String, Backlog> backlogs = new ConcurrentHashMap<>();

  // Guarded by lock.
  private final Map<String, Backlog> byAccount = new HashMap<>();
  private final Map<Work, Kind> kinds = new EnumMap<>(Work.class);
  private long servedLeast;
  private int busy;
  private long bytes;
  private boolean draining;
  private boolean stopped;

  /** The tasks of one kind of work, and how much it was served. Guarded by lock. */
  private static final class Kind {
    final FairTasks tasks = new FairTasks();
    long served;
  }

  /** The calls of one queue or account that have not reached the engine yet. Guarded by lock. */
  private static final class Backlog {
    int calls;
    long bytes;
  }

  /** The kind of work that a task does. */
  public enum Work {
    ENQUEUE,
    FAILURE,
    REDRIVE
  }

  public HookExecutor(int count, long maxBytes, ThreadFactory factory) {
    this.maxThreads = count;
    this.maxBytes = maxBytes;
    ThreadPoolExecutor pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(count, factory);
    // Now: a thread that the system refuses later would end the engine, which adds tasks.
    pool.prestartAllCoreThreads();
    this.threads = pool;
  }

  /**
   * Returns whether calls of {@code queue} wait or run here: a later call must not overtake them.
   */
  public boolean isBusy(String queue) {
    return backlogs.containsKey(queue);
  }

  /**
   * Runs a call to enqueue.
   *
   * @param account whose share of threads and bytes it uses; null to share by queue
   * @param messages how many runs of a script it takes
   * @param size of the messages, in bytes
   * @throws BrokerException if too many calls or bytes wait, or the pool is closed
   */
  public void call(@Nullable String account, String queue, int messages, long size, Runnable task) {
    String owner = owner(account, queue);
    lock.lock();
    try {
      enter(owner, queue, size);
      add(
          Work.ENQUEUE,
          owner,
          queue,
          messages,
          () -> {
            try {
              task.run();
            } finally {
              leave(owner, queue, size);
            }
          });
    } finally {
      lock.unlock();
    }
  }

  private static String owner(@Nullable String account, String queue) {
    return account == null ? "queue:" + queue : "account:" + account;
  }

  /** Runs a task that cannot be refused; does nothing once the pool is closed. */
  public void run(Work work, String queue, int runs, Runnable task) {
    lock.lock();
    try {
      add(work, owner(null, queue), queue, runs, task);
    } finally {
      lock.unlock();
    }
  }

  private void add(Work work, String owner, String queue, int runs, Runnable task) {
    if (stopped) {
      // The broker has ended, and with it every call: no caller waits for the task.
      return;
    }
    int cost = Math.max(1, Math.min(runs, MAX_COST));
    kinds
        .computeIfAbsent(work, unused -> new Kind())
        .tasks
        .add(new FairTasks.Task(owner, queue, cost, task));
    if (busy < maxThreads) {
      threads.execute(this::runAll); // first: it throws if no thread can be started
      busy++;
    }
  }

  /** A task that runs, and its kind. */
  private record Running(Kind kind, FairTasks.Task task) {}

  /** Runs tasks until none is ready. */
  private void runAll() {
    Running running = null;
    while ((running = next(running)) != null) {
      try {
        running.task().work().run();
      } catch (RuntimeException | Error failure) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
      }
    }
  }

  private @Nullable Running next(@Nullable Running done) {
    lock.lock();
    try {
      if (done != null) {
        done.kind().tasks.done(done.task());
      }
      Running next = next();
      if (next == null) {
        busy--;
      }
      return next;
    } finally {
      lock.unlock();
    }
  }

  /** Returns a task of the kind of work that was served least. */
  private @Nullable Running next() {
    Kind least = null;
    for (Kind kind : kinds.values()) {
      if (kind.tasks.hasReady() && (least == null || kind.served < least.served)) {
        least = kind;
      }
    }
    FairTasks.Task task = least == null ? null : least.tasks.next();
    if (least == null || task == null) {
      return null;
    }
    // A kind that had nothing to do has saved nothing for later.
    servedLeast = Math.max(servedLeast, least.served);
    least.served = servedLeast + task.cost();
    return new Running(least, task);
  }

  private void enter(String owner, String queue, long size) {
    if (draining) {
      throw closed();
    }
    Backlog backlog = backlogs.get(queue);
    if (backlog != null) {
      requireRoom(queue, backlog, size);
    }
    requireRoom(queue, size, byAccount.get(owner));
    count(backlogs, queue, size);
    count(byAccount, owner, size);
    bytes += size;
  }

  private static void count(Map<String, Backlog> all, String name, long size) {
    Backlog backlog = all.computeIfAbsent(name, first -> new Backlog());
    backlog.calls++;
    backlog.bytes += size;
  }

  private void requireRoom(String queue, Backlog backlog, long size) {
    if (backlog.calls >= MAX_CALLS) {
      throw busy(queue, MAX_CALLS + " calls of one queue");
    }
    if (backlog.bytes + size > maxBytes / 2) {
      throw busy(queue, maxBytes / 2 + " bytes of one queue");
    }
  }

  private void requireRoom(String queue, long size, @Nullable Backlog own) {
    long after = size + (own == null ? 0 : own.bytes);
    if (own != null && after > maxBytes / 2) {
      throw busy(queue, maxBytes / 2 + " bytes of one account");
    }
    boolean isSmall = after <= maxBytes / SMALL_SHARE;
    long most = isSmall ? maxBytes : maxBytes - maxBytes / 4;
    if (bytes > 0 && bytes + size > most) {
      throw busy(queue, maxBytes + " bytes of all queues (maxInboundBytes)");
    }
  }

  private static BrokerException busy(String queue, String rule) {
    return new BrokerException(
        Code.BUSY,
        "too many calls wait for hooks: queue=" + queue + ", limit=" + rule + "; retry later");
  }

  private static BrokerException closed() {
    return new BrokerException(Code.STOPPED, "the broker is closed");
  }

  private void leave(String owner, String queue, long size) {
    lock.lock();
    try {
      bytes -= size;
      uncount(backlogs, queue, size);
      uncount(byAccount, owner, size);
      left.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static void uncount(Map<String, Backlog> all, String name, long size) {
    all.computeIfPresent(
        name,
        (same, backlog) -> {
          backlog.bytes -= size;
          return --backlog.calls == 0 ? null : backlog;
        });
  }

  /** Refuses further calls, and waits up to {@code patience} for those that have come. */
  public void drain(Duration patience) {
    long nanos = patience.toNanos();
    lock.lock();
    try {
      draining = true;
      while (!backlogs.isEmpty() && nanos > 0) {
        nanos = left.awaitNanos(nanos);
      }
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** Drops the tasks that wait, and ends the threads. */
  public void stop() {
    lock.lock();
    try {
      draining = true;
      stopped = true;
      kinds.values().forEach(kind -> kind.tasks.clear());
    } finally {
      lock.unlock();
    }
    threads.shutdownNow();
  }
}
