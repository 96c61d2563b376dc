package dev.sluice.bench.governor;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.redis.OutageMode;
import dev.sluice.testkit.load.SeedBudget;
import java.util.Map;

/** A model in Redis whose limit is never reached. */
final class SharedGovernor implements AutoCloseable {
  private static final String MODEL = "model";
  private static final TokenRequest REQUEST =
      TokenRequest.of(MODEL, 1_000).withPriorityClass("P1_user");

  /** A billion a second: every decision is a grant. */
  private static final ModelBudget FAR = SeedBudget.budget(60_000_000_000L, 1_000_000_000).build();

  private final BudgetStore store;

  SharedGovernor(String url, String prefix, BudgetListener listener) {
    store =
        RedisBudgets.builder()
            .url(url)
            .prefix(prefix)
            // A request without an answer of Redis is not a grant.
            .outageMode(OutageMode.CLOSED)
            .build()
            .open(BudgetConfig.builder().models(Map.of(MODEL, FAR)).build(), listener);
  }

  /** Whether a request was granted; it is never settled. */
  boolean grant() {
    return store.request(REQUEST).join() instanceof TokenDecision.Granted;
  }

  /** Whether a request was granted, and settled for half of it. */
  boolean grantAndSettle() {
    return store.request(REQUEST).join() instanceof TokenDecision.Granted granted
        && store.settle(granted.reservation(), granted.tokens() / 2).join().isPresent();
  }

  @Override
  public void close() {
    store.close();
  }
}
