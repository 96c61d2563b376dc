package dev.sluice.broker.hooks;

import dev.sluice.FairExecutor;
import dev.sluice.Placement;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The threads on which scripts run: neither callers nor the engine wait for a script.
 *
 * <p>Thread-safe; only {@link #drain} blocks.
 */
public final class HookExecutor {
  /*
   * Fairness. The tenants of the executor are kinds of work of one queue: its calls to enqueue, its
   * on_failure, its redrives. With n queues that run scripts for calls to enqueue, each gets 1/n of
   * these runs, however many calls the others have waiting.
   *
   * Order. The tasks of one tenant run one at a time, in the order in which they came. So the calls
   * of one queue reach the engine in that order, and hold one thread at most.
   *
   * Bounds. Calls to enqueue are refused beyond MAX_CALLS of a queue, half of maxBytes of a queue,
   * or maxBytes in all. Everything else (on_failure, redrive) is about messages that the broker
   * already holds, so it is bounded by them, and cannot be refused.
   */

  /** Calls of one queue that may wait for their scripts, the one that runs included. */
  public static final int MAX_CALLS = 1_000;

  /** The most runs of a script that a task is charged for. */
  private static final int TURN = 1_000;

  private final FairExecutor threads;
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition left = lock.newCondition();

  /** By queue; changed under the lock, read without it. */
  private final Map<String, Backlog> backlogs = new ConcurrentHashMap<>();

  // Guarded by lock.
  private long bytes;
  private boolean draining;

  /** The calls of one queue that have not reached the engine yet. Guarded by lock. */
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
    this.maxBytes = maxBytes;
    this.threads =
        FairExecutor.builder()
            .threads(count)
            .threadFactory(factory)
            .maxQueued(Integer.MAX_VALUE)
            .maxCost(TURN)
            .build();
    threads.setMaxInFlightPerKey(1);
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
   * @param messages how many runs of a script it takes
   * @param size of the messages, in bytes
   * @throws BrokerException if too many calls or bytes wait, or the pool is closed
   */
  public void call(String queue, int messages, long size, Runnable task) {
    enter(queue, size);
    Runnable counted =
        () -> {
          try {
            task.run();
          } finally {
            leave(queue, size);
          }
        };
    try {
      execute(Work.ENQUEUE, queue, messages, counted);
    } catch (RejectedExecutionException ended) {
      leave(queue, size);
      throw closed();
    }
  }

  /** Runs a task that cannot be refused; does nothing once the pool is closed. */
  public void run(Work work, String queue, int runs, Runnable task) {
    try {
      execute(work, queue, runs, task);
    } catch (RejectedExecutionException ended) {
      // The broker has ended, and with it every call: no caller waits for the task.
    }
  }

  private void execute(Work work, String queue, int runs, Runnable task) {
    int cost = Math.max(1, Math.min(runs, TURN));
    threads.execute(Placement.of(work + ":" + queue).withCost(cost), task);
  }

  private void enter(String queue, long size) {
    lock.lock();
    try {
      if (draining) {
        throw closed();
      }
      Backlog backlog = backlogs.get(queue);
      if (backlog != null) {
        requireRoom(queue, backlog, size);
      }
      if (bytes > 0 && bytes + size > maxBytes) {
        throw busy(queue, maxBytes + " bytes of all queues (maxInboundBytes)");
      }
      Backlog entered = backlogs.computeIfAbsent(queue, first -> new Backlog());
      entered.calls++;
      entered.bytes += size;
      bytes += size;
    } finally {
      lock.unlock();
    }
  }

  private void requireRoom(String queue, Backlog backlog, long size) {
    if (backlog.calls >= MAX_CALLS) {
      throw busy(queue, MAX_CALLS + " calls of one queue");
    }
    if (backlog.bytes + size > maxBytes / 2) {
      throw busy(queue, maxBytes / 2 + " bytes of one queue");
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

  private void leave(String queue, long size) {
    lock.lock();
    try {
      bytes -= size;
      backlogs.computeIfPresent(
          queue,
          (name, backlog) -> {
            backlog.bytes -= size;
            return --backlog.calls == 0 ? null : backlog;
          });
      left.signalAll();
    } finally {
      lock.unlock();
    }
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
    threads.shutdownNow();
  }
}
