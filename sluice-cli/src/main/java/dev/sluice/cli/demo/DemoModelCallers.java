package dev.sluice.cli.demo;

import dev.sluice.client.GovernorClient;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.TokenDecision;
import dev.sluice.client.TokenRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Callers of a model that request five times its budget. */
public final class DemoModelCallers implements AutoCloseable {
  static final String MODEL = "demo-llm";
  static final long TOKENS_PER_SECOND = 9_000;
  static final long BURST_TOKENS = 20_000;

  /** The requested and the used tokens of a call. */
  private static final long REQUESTED_TOKENS = 2_000;

  static final long USED_TOKENS = 1_500;

  /** The calls a second of each class: five times the budget together. */
  static final List<DemoModelCallers.CallerLoad> DEMANDS =
      List.of(
          new DemoModelCallers.CallerLoad("P0_clinical", 3),
          new DemoModelCallers.CallerLoad("P1_user", 9),
          new DemoModelCallers.CallerLoad("P2_batch", 18));

  public static final String BUDGETS =
      """
      {
        "models": {
          "%s": {
            "target_tpm": %d,
            "burst_tpm": %d,
            "priority_classes": { "P0_clinical": 1.0, "P1_user": 0.7, "P2_batch": 0.4 },
            "minimum_shares": { "P2_batch": 0.1 }
          }
        }
      }
      """
          .formatted(MODEL, TOKENS_PER_SECOND * 60, BURST_TOKENS);

  private static final Duration CALL = Duration.ofMillis(100);
  private static final Duration RETRY = Duration.ofMillis(100);
  private static final Set<Code> PASSING = Set.of(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED);

  private final GovernorClient governor;
  private final ModelCallLog log;
  private final LongSupplier millis;
  private final Consumer<Throwable> failed;
  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "sluice-demo-calls");
            thread.setDaemon(true);
            return thread;
          });
  private final List<ScheduledFuture<?>> asking = new ArrayList<>();
  private final Map<ModelCallLog.Call, CompletableFuture<TokenDecision>> waiting =
      new ConcurrentHashMap<>();
  private volatile boolean leaving;

  /** A class, how often one of it asks, and how many of it wait before the next goes elsewhere. */
  record CallerLoad(String priority, int perSecond, int mostWaiting) {
    /** They all wait. */
    CallerLoad(String priority, int perSecond) {
      this(priority, perSecond, Integer.MAX_VALUE);
    }
  }

  /**
   * Asks nothing yet.
   *
   * @param millis the callers' clock
   * @param failed receives unexpected failures, perhaps several
   */
  DemoModelCallers(
      GovernorClient governor, ModelCallLog log, LongSupplier millis, Consumer<Throwable> failed) {
    this.governor = governor;
    this.log = log;
    this.millis = millis;
    this.failed = failed;
  }

  /** Starts to request tokens. Only the thread that closes this object may call it. */
  void begin(List<DemoModelCallers.CallerLoad> demands) {
    for (DemoModelCallers.CallerLoad demand : demands) {
      long period = TimeUnit.SECONDS.toNanos(1) / demand.perSecond;
      asking.add(timer.scheduleAtFixedRate(() -> ask(demand), 0, period, TimeUnit.NANOSECONDS));
    }
  }

  /** Stops new requests; waiting ones stay. */
  void end() {
    asking.forEach(each -> each.cancel(false));
    asking.clear();
  }

  private void ask(DemoModelCallers.CallerLoad demand) {
    if (waiting(demand.priority) >= demand.mostWaiting) {
      return;
    }
    ModelCallLog.Call call = log.requested(demand.priority, millis.getAsLong());
    TokenRequest request =
        TokenRequest.of(MODEL, REQUESTED_TOKENS)
            .withPriorityClass(demand.priority)
            .withIdempotencyKey(UUID.randomUUID().toString());
    waitFor(request, call);
  }

  private long waiting(String priority) {
    return waiting.keySet().stream().filter(call -> call.priority().equals(priority)).count();
  }

  private void waitFor(TokenRequest request, ModelCallLog.Call call) {
    if (leaving) {
      return;
    }
    CompletableFuture<TokenDecision> turn = governor.acquireAsync(request);
    waiting.put(call, turn);
    var unused =
        turn.whenComplete(
            (outcome, failure) -> {
              waiting.remove(call);
              if (outcome instanceof TokenDecision.Granted granted) {
                log.granted(call, millis.getAsLong());
                later(CALL, () -> settle(granted.reservation()));
              } else if (failure != null && isPassing(failure)) {
                later(RETRY, () -> waitFor(request, call));
              } else if (!leaving) {
                failed.accept(
                    failure == null ? new IllegalStateException("refused: " + outcome) : failure);
              }
            });
  }

  /** A reservation outlives the server; one that is not found was settled before. */
  private void settle(String reservation) {
    var unused =
        governor
            .settleAsync(reservation, USED_TOKENS)
            .whenComplete(
                (settled, failure) -> {
                  if (failure != null && isPassing(failure)) {
                    later(RETRY, () -> settle(reservation));
                  }
                });
  }

  private static boolean isPassing(Throwable failure) {
    return failure instanceof SluiceClientException refused && PASSING.contains(refused.code());
  }

  private void later(Duration time, Runnable action) {
    try {
      ScheduledFuture<?> unused = timer.schedule(action, time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      // The demo is over.
    }
  }

  /** Cancels all waiting requests. */
  @Override
  public void close() {
    leaving = true;
    end();
    timer.shutdownNow();
    waiting.values().forEach(turn -> turn.cancel(false));
  }
}
