package dev.sluice.bench.redis;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** One thread that asks without waiting for answers, up to a number of them. */
final class PipelinedLoad {
  static final int WINDOW = 256;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final Supplier<CompletionStage<Boolean>> call;
  private final Semaphore window = new Semaphore(WINDOW);
  private final AtomicLong granted = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();

  PipelinedLoad(Supplier<CompletionStage<Boolean>> call) {
    this.call = call;
  }

  /** Grants a second after a lead-in. */
  double perSecond(Duration leadIn, Duration measured) throws InterruptedException {
    long start = System.nanoTime();
    long from = start + leadIn.toNanos();
    ask(from);
    long before = granted.get();
    long began = System.nanoTime();
    ask(began + measured.toNanos());
    double perSecond = (granted.get() - before) * 1e9 / (System.nanoTime() - began);
    if (!window.tryAcquire(WINDOW, PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
      failed.addAndGet(WINDOW - window.availablePermits());
    }
    return perSecond;
  }

  /** Those that were refused, failed, or had no answer. */
  long failed() {
    return failed.get();
  }

  private void ask(long untilNanos) throws InterruptedException {
    while (true) {
      long left = untilNanos - System.nanoTime();
      if (left <= 0 || !window.tryAcquire(left, TimeUnit.NANOSECONDS)) {
        return;
      }
      var unused = call.get().whenComplete((yes, thrown) -> answered(thrown == null && yes));
    }
  }

  private void answered(boolean yes) {
    (yes ? granted : failed).incrementAndGet();
    window.release();
  }
}
