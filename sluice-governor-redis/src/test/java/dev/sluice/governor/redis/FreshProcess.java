package dev.sluice.governor.redis;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.redis.SharedLimits;
import dev.sluice.testkit.load.SeedBudget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A process that makes two decisions with default settings, the first of its life, and ends. */
final class FreshProcess {
  static final String DECIDED = "decided ";

  /**
   * Printed if Redis did not answer for three seconds after the start, before the milliseconds for
   * which one of the threads waited for a core.
   */
  static final String LATE = "late ";

  /** The time that a thread has waited for a core is the second word there. */
  private static final String WAITED = "schedstat";

  private FreshProcess() {}

  /** Arguments: the URL of Redis, and the name of an unused bucket. */
  public static void main(String[] args) {
    boolean token;
    boolean late;
    long waited;
    try (SharedLimits limits = SharedLimits.connect(args[0])) {
      late = !limits.status().available();
      waited = waitedMillis();
      token = limits.bucket(args[1], Limit.perMinute(10)).blocking().tryAcquire();
    }
    TokenDecision outcome;
    try (BudgetStore store =
        RedisBudgets.builder()
            .url(args[0])
            .build()
            .open(
                RedisBudgetStoreTest.config(SeedBudget.budget(60_000_000, 1_000_000).build()),
                BudgetListener.NONE)) {
      outcome = store.request(OutageRig.request(1)).join();
    }
    System.out.println(
        DECIDED
            + (late ? LATE + waited : List.of(token, outcome instanceof TokenDecision.Granted)));
  }

  /** Returns how long the thread waited that waited most; 0 where the kernel does not tell. */
  private static long waitedMillis() {
    Path threads = Path.of("/proc/self/task");
    if (!Files.isDirectory(threads)) {
      return 0;
    }
    try (Stream<Path> all = Files.list(threads)) {
      return all.mapToLong(FreshProcess::waitedMillis).max().orElse(0);
    } catch (IOException unknown) {
      return 0;
    }
  }

  private static long waitedMillis(Path thread) {
    try {
      String[] words = Files.readString(thread.resolve(WAITED)).trim().split(" ", -1);
      return TimeUnit.NANOSECONDS.toMillis(Long.parseLong(words[1]));
    } catch (IOException ended) {
      return 0;
    }
  }
}
