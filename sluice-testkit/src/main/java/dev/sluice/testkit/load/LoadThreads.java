package dev.sluice.testkit.load;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Threads that do something again and again until they are closed, and note how long the calls took
 * that they were told to time.
 *
 * @since 0.1
 */
public final class LoadThreads implements AutoCloseable {
  private static final long SLOW_NANOS = 90_000_000;

  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong slowest = new AtomicLong();
  private final Queue<Slow> slow = new ConcurrentLinkedQueue<>();
  private volatile boolean stopped;

  private record Slow(long from, long to) {
    long nanosLess(Hiccups hiccups) {
      return to - from - hiccups.nanosIn(from, to);
    }
  }

  /** None yet. */
  public LoadThreads() {}

  /**
   * Starts one.
   *
   * @param pauseNanos after each round
   */
  public void start(long pauseNanos, Runnable round) {
    Thread thread = new Thread(() -> run(pauseNanos, round), "load");
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
  }

  private void run(long pauseNanos, Runnable round) {
    while (!stopped) {
      round.run();
      if (pauseNanos > 0) {
        LockSupport.parkNanos(this, pauseNanos);
      }
    }
  }

  /** Makes a call, and notes how long it took. */
  public <T> T timed(Supplier<T> call) {
    long from = System.nanoTime();
    T answer = call.get();
    long to = System.nanoTime();
    slowest.accumulateAndGet(to - from, Math::max);
    if (to - from > SLOW_NANOS) {
      slow.add(new Slow(from, to));
    }
    return answer;
  }

  /** How long the slowest call took. */
  public long slowestMillis() {
    return slowest.get() / 1_000_000;
  }

  /** The slowest call, less what this machine kept its threads waiting meanwhile. */
  public long slowestMillis(Hiccups hiccups) {
    long nanos =
        slow.stream()
            .mapToLong(call -> call.nanosLess(hiccups))
            .max()
            .orElse(Math.min(slowest.get(), SLOW_NANOS));
    return nanos / 1_000_000;
  }

  /** Returns when all of them have ended. */
  @Override
  public void close() {
    stopped = true;
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
