package dev.sluice.bench.core;

import dev.sluice.Limit;
import dev.sluice.TokenBucket;
import dev.sluice.bench.measure.Report;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Measures 50,000 callers that join the waiting line of one bucket at once: how long a call takes,
 * and how far from the order of the calls it is served.
 *
 * <p>Each caller is a virtual thread if the JDK has them; otherwise 64 threads make the calls.
 */
final class JoinStorm {
  private static final int CALLS = 50_000;
  private static final int THREADS = 64;

  /** Fills the line at first, and empties it within a second. */
  private static final Limit LIMIT = new Limit.Balanced(100, 200_000, Duration.ofSeconds(1));

  private final TokenBucket bucket =
      TokenBucket.builder().limit(LIMIT).initialTokens(0).maxWaiters(CALLS).build();
  private final CountDownLatch go = new CountDownLatch(1);
  private final CountDownLatch served = new CountDownLatch(CALLS);
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicInteger ends = new AtomicInteger();
  private final long[] nanos = new long[CALLS];
  private final int[] displaced = new int[CALLS];

  private JoinStorm() {}

  static void addTo(Report report) throws InterruptedException {
    new JoinStorm().run(); // for the compiler
    JoinStorm storm = new JoinStorm();
    storm.run();
    Arrays.sort(storm.nanos);
    double mean = Arrays.stream(storm.displaced).average().orElseThrow();
    report.line("");
    report.line("%-24s %10s %10s %10s", "50,000 join at once", "p99.9 us", "max us", "displaced");
    report.line(
        "%-24s %10.1f %10.1f %10.1f",
        "sluice", micros(storm.p999()), micros(storm.longest()), mean);
    report.value("join_p999_us", micros(storm.p999()));
    report.value("join_max_us", micros(storm.longest()));
    report.value("join_displaced_mean", mean);
  }

  private static double micros(long nanos) {
    return nanos / 1e3;
  }

  private long p999() {
    return nanos[CALLS - CALLS / 1_000];
  }

  private long longest() {
    return nanos[CALLS - 1];
  }

  private void run() throws InterruptedException {
    int threads = Runtime.version().feature() >= 21 ? CALLS : THREADS;
    for (int i = 0; i < threads; i++) {
      int share = CALLS / threads + (i < CALLS % threads ? 1 : 0);
      start(() -> join(share));
    }
    go.countDown();
    served.await();
  }

  private void join(int share) {
    try {
      go.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    for (int i = 0; i < share; i++) {
      int call = calls.getAndIncrement();
      long from = System.nanoTime();
      var turn = bucket.acquireAsync(1);
      nanos[call] = System.nanoTime() - from;
      var unused =
          turn.thenRun(
              () -> {
                displaced[call] = Math.abs(ends.getAndIncrement() - call);
                served.countDown();
              });
    }
  }

  /** Uses reflection for virtual threads, because this is compiled for a release without them. */
  private static void start(Runnable work) {
    if (Runtime.version().feature() < 21) {
      Thread thread = new Thread(work, "join-storm");
      thread.setDaemon(true);
      thread.start();
      return;
    }
    try {
      Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}
