package dev.sluice.testkit.load;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Notes when threads of this process did not run although they wanted to.
 *
 * @since 0.1
 */
public final class Hiccups implements AutoCloseable {
  private static final int THREADS = 3;
  private static final long TICK_NANOS = 1_000_000;
  private static final long NOTED_NANOS = 5_000_000;

  private final List<Queue<Gap>> gaps = new ArrayList<>();
  private volatile boolean stopped;

  private record Gap(long from, long to) {
    long in(long start, long end) {
      return Math.max(0, Math.min(to, end) - Math.max(from, start));
    }
  }

  /** Begins. */
  public Hiccups() {
    for (int i = 0; i < THREADS; i++) {
      Queue<Gap> own = new ConcurrentLinkedQueue<>();
      gaps.add(own);
      Thread thread = new Thread(() -> run(own), "hiccups");
      thread.setDaemon(true);
      thread.start();
    }
  }

  private void run(Queue<Gap> own) {
    long last = System.nanoTime();
    while (!stopped) {
      LockSupport.parkNanos(this, TICK_NANOS);
      long now = System.nanoTime();
      if (now - last > NOTED_NANOS) {
        own.add(new Gap(last, now));
      }
      last = now;
    }
  }

  /** How long the unluckiest thread did not run between two times. */
  public long nanosIn(long from, long to) {
    return gaps.stream()
        .mapToLong(own -> own.stream().mapToLong(gap -> gap.in(from, to)).sum())
        .max()
        .orElse(0);
  }

  /** How long the longest pause was. */
  public long longestMillis() {
    return gaps.stream()
            .flatMap(Queue::stream)
            .mapToLong(gap -> gap.to() - gap.from())
            .max()
            .orElse(0)
        / 1_000_000;
  }

  /** Notes nothing any more. */
  @Override
  public void close() {
    stopped = true;
  }
}
