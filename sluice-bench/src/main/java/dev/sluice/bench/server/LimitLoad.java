package dev.sluice.bench.server;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;

/** Decisions on 1,000 keys of one template, over one stream of the client. */
final class LimitLoad {
  static final String TEMPLATE = "tenant:*";

  /** Asked for and not answered. */
  private static final int WINDOW = 1_024;

  private static final List<Map<String, Long>> COSTS =
      IntStream.range(0, 1_000).mapToObj(i -> Map.of("tenant:" + i, 1L)).toList();

  private final Semaphore window = new Semaphore(WINDOW);
  private final AtomicLong granted = new AtomicLong();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  /** Sets a limit that grants every decision of this load. */
  static void setLimit(SluiceClient client) {
    client.setLimit(TEMPLATE, new Limit.Rate(1e6, 1e6));
  }

  /** Decisions a second. */
  double perSecond(SluiceClient client, Duration warmUp, Duration measured)
      throws InterruptedException {
    long start = System.nanoTime();
    long from = start + warmUp.toNanos();
    long until = from + measured.toNanos();
    long before = 0;
    long began = 0;
    for (int i = 0; System.nanoTime() < until && failure.get() == null; i++) {
      window.acquire();
      ask(client, COSTS.get(i % COSTS.size()));
      if (began == 0 && System.nanoTime() >= from) {
        before = granted.get();
        began = System.nanoTime();
      }
    }
    double perSecond = (granted.get() - before) * 1e9 / (System.nanoTime() - began);
    window.acquire(WINDOW);
    if (failure.get() != null) {
      throw new IllegalStateException("a decision failed", failure.get());
    }
    return perSecond;
  }

  private void ask(SluiceClient client, Map<String, Long> costs) {
    CompletableFuture<Decision> decision = client.decideAsync(costs);
    var unused =
        decision.whenComplete(
            (decided, failed) -> {
              if (failed != null) {
                failure.compareAndSet(null, failed);
              } else if (!decided.isGranted()) {
                failure.compareAndSet(null, new IllegalStateException("refused: " + decided));
              }
              granted.incrementAndGet();
              window.release();
            });
  }
}
