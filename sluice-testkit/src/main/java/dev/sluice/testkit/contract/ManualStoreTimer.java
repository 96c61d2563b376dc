package dev.sluice.testkit.contract;

import dev.sluice.governor.spi.StoreTimer;
import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A timer whose clock moves only by {@link #advance}, which runs all due actions in order on its
 * thread. Thread-safe.
 *
 * @since 0.1
 */
public final class ManualStoreTimer implements StoreTimer {
  private final PriorityQueue<Due> due =
      new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
  private final Queue<Runnable> untold = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean telling = new AtomicBoolean();
  private long now;
  private long numbers;

  private record Due(long at, long number, Runnable action) {}

  /** At zero. */
  public ManualStoreTimer() {}

  @Override
  public synchronized long nanoTime() {
    return now;
  }

  @Override
  public synchronized void schedule(long nanos, Runnable action) {
    due.add(new Due(now + nanos, numbers++, action));
  }

  /** Runs the action at once, but after those already queued, so that the stack does not grow. */
  @Override
  public void execute(Runnable action) {
    untold.add(action);
    while (!untold.isEmpty() && telling.compareAndSet(false, true)) {
      try {
        for (Runnable next = untold.poll(); next != null; next = untold.poll()) {
          next.run();
        }
      } finally {
        telling.set(false);
      }
    }
  }

  /**
   * Advances the clock and runs every action that is due by then, each at its instant.
   *
   * @param time how much
   */
  public void advance(Duration time) {
    long until = nanoTime() + time.toNanos();
    for (Runnable next = nextBy(until); next != null; next = nextBy(until)) {
      next.run();
    }
  }

  private synchronized @Nullable Runnable nextBy(long until) {
    Due next = due.peek();
    if (next == null || next.at() > until) {
      now = until;
      return null;
    }
    due.remove();
    now = Math.max(now, next.at());
    return next.action();
  }

  /**
   * Moves the clock without running actions.
   *
   * @param by how much later, or earlier if it is negative
   */
  public synchronized void set(Duration by) {
    now += by.toNanos();
  }

  @Override
  public synchronized void close() {
    due.clear();
  }
}
