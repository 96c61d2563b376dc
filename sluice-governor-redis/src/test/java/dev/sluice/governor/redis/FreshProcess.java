package dev.sluice.governor.redis;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.redis.SharedLimits;
import dev.sluice.testkit.load.SeedBudget;
import java.util.List;

/** A process that makes two decisions with default settings, the first of its life, and ends. */
final class FreshProcess {
  static final String DECIDED = "decided ";

  /** Redis did not answer for three seconds as the process started: the machine is busy. */
  static final String LATE = "late";

  private FreshProcess() {}

  /** Arguments: the URL of Redis, and a name for a bucket that nobody has used. */
  public static void main(String[] args) {
    boolean token;
    boolean late;
    try (SharedLimits limits = SharedLimits.connect(args[0])) {
      late = !limits.status().available();
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
        DECIDED + (late ? LATE : List.of(token, outcome instanceof TokenDecision.Granted)));
  }
}
