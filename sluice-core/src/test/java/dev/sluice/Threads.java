package dev.sluice;

import dev.sluice.internal.time.SimulatedClock;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/** Runs the same work on several threads at once. */
final class Threads {
  private Threads() {}

  /** The sum of what {@code work} returns on each thread; fails if one of them does. */
  static long sumOver(int threads, LongSupplier work) {
    List<CompletableFuture<Long>> results =
        IntStream.range(0, threads).mapToObj(i -> start(work)).toList();
    return results.stream().mapToLong(CompletableFuture::join).sum();
  }

  /** Runs {@code work} beside the caller, who joins the future to see it end well. */
  static CompletableFuture<Void> beside(Runnable work) {
    return start(
            () -> {
              work.run();
              return 0;
            })
        .thenAccept(ignored -> {});
  }

  /** Returns how many timers wait for {@code clock} to be advanced. */
  static int pendingAlarms(ManualClock clock) {
    return ((SimulatedClock) clock).pendingAlarms();
  }

  private static CompletableFuture<Long> start(LongSupplier work) {
    return CompletableFuture.supplyAsync(work::getAsLong, task -> new Thread(task).start());
  }
}
