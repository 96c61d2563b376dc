package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.redis.OutageListener;
import dev.sluice.testkit.load.SeedBudget;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;

/** A node in a process of its own that sends requests on order, and waits for its tickets. */
final class BudgetCaller {
  static final String MODEL = "slots";
  static final String PRIORITY = "P1_user";
  static final String READY = "ready ";
  static final String GRANTED = "granted";
  static final String QUEUED = "queued";
  static final String DECIDED = "decided ";

  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  private BudgetCaller() {}

  /** Returns a budget that only its concurrency limits. */
  static BudgetConfig config(int atOnce, Duration idleTimeout, Duration reservationTimeout) {
    return BudgetConfig.builder()
        .models(
            Map.of(MODEL, SeedBudget.budget(60, 1_000_000).maxConcurrentRequests(atOnce).build()))
        .waitingList(
            WaitingListConfig.builder()
                .maxWaiting(1_000)
                .ticketIdleTimeout(idleTimeout)
                .reservationTimeout(reservationTimeout)
                .drainBatch(10)
                .refillInterval(Duration.ofSeconds(60))
                .build())
        .build();
  }

  static BudgetStore open(String url, BudgetConfig config) {
    Availability redis = new Availability();
    BudgetStore store =
        RedisBudgets.builder()
            .url(url)
            .timeout(TIMEOUT)
            .outageListener(redis)
            .build()
            .open(config, BudgetListener.NONE);
    // On a busy machine a store may open before Redis has answered, and then grants by its share.
    Awaitility.await().atMost(TIMEOUT).until(() -> redis.available);
    Awaitility.await()
        .atMost(TIMEOUT)
        .until(() -> store.status().handle((status, failure) -> failure == null).join());
    return store;
  }

  /** Whether Redis decides. */
  private static final class Availability implements OutageListener {
    private volatile boolean available = true;

    @Override
    public void outageStarted(String cause, double share) {
      available = false;
    }

    @Override
    public void outageEnded(Duration away, long tokens) {
      available = true;
    }
  }

  /**
   * Arguments: the URL of Redis, the concurrency, and the milliseconds of the idle timeout and of
   * the timeout of reservations. Prints the time of its clock when it is ready. Orders: tokens, and
   * milliseconds until the deadline.
   */
  public static void main(String[] args) throws IOException {
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    BudgetConfig config = config(Integer.parseInt(args[1]), millis(args[2]), millis(args[3]));
    try (BudgetStore store = open(args[0], config)) {
      System.out.println(READY + System.currentTimeMillis());
      for (String order = orders.readLine(); order != null; order = orders.readLine()) {
        String[] parts = order.split(" ", -1);
        ask(store, Long.parseLong(parts[0]), millis(parts[1]));
      }
    }
  }

  private static Duration millis(String text) {
    return Duration.ofMillis(Long.parseLong(text));
  }

  private static void ask(BudgetStore store, long tokens, Duration deadline) {
    TokenDecision outcome =
        store
            .request(
                TokenRequest.of(MODEL, tokens).withPriorityClass(PRIORITY).withMaxWait(deadline))
            .join();
    if (outcome instanceof TokenDecision.Queued queued) {
      var unused = store.await(queued.ticket()).thenAccept(BudgetCaller::print);
      // Answered after the other call: from here on the ticket is awaited.
      store.status().join();
      System.out.println(QUEUED);
    } else {
      System.out.println(GRANTED);
    }
  }

  private static void print(Optional<TokenDecision> decided) {
    System.out.println(
        DECIDED
            + decided
                .map(
                    outcome ->
                        outcome instanceof TokenDecision.Denied refused
                            ? refused.reason().name()
                            : outcome.isGranted() ? GRANTED : "IMPOSSIBLE")
                .orElse("gone"));
  }
}
