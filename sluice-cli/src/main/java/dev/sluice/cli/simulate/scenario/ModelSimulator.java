package dev.sluice.cli.simulate.scenario;

import dev.sluice.Limit;
import dev.sluice.governor.AlertConfig;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A governor and the callers of its models, at a virtual time. By FIFO it is the same governor with
 * one class and one tenant.
 */
final class ModelSimulator {
  private static final String EVERYBODY = "everybody";

  /** Drops log messages. */
  private static final AlertConfig NO_ALERTS =
      AlertConfig.builder()
          .interval(Duration.ofDays(1))
          .window(Duration.ofSeconds(1))
          .rejectionThreshold(1)
          .minRequests(1_000_000_000)
          .maxWaiting(1_000_000_000)
          .build();

  private final VirtualClock time;
  private final boolean byFifo;
  private final Governor governor;
  private final Map<String, ModelUsageMeter> models;
  private final long stepNanos;
  private final long extendNanos;
  private boolean over;

  /**
   * One call.
   *
   * @param meters of its caller and of its class
   * @param used the fraction of granted tokens that it uses
   */
  record Call(
      TokenRequest request, List<TrafficMeter> meters, double used, long nanos, long askedAt) {}

  ModelSimulator(
      VirtualClock time,
      boolean byFifo,
      BudgetConfig config,
      Map<String, ModelUsageMeter> models,
      long stepNanos) {
    this.time = time;
    this.byFifo = byFifo;
    this.models = models;
    this.stepNanos = stepNanos;
    this.extendNanos = Math.max(1, config.waitingList().reservationTimeout().toNanos() / 2);
    this.governor =
        Governor.builder(
                BudgetConfig.builder()
                    .models(byFifo ? inOneLine(config.models()) : config.models())
                    .waitingList(config.waitingList())
                    .alerts(NO_ALERTS)
                    .routes(config.routes())
                    .build())
            .clock(time)
            .build();
  }

  private static Map<String, ModelBudget> inOneLine(Map<String, ModelBudget> models) {
    Map<String, ModelBudget> plain = new LinkedHashMap<>();
    models.forEach(
        (name, each) ->
            plain.put(
                name,
                ModelBudget.builder(each.tokens())
                    .requests(each.requests().toArray(Limit[]::new))
                    .maxConcurrentRequests(each.maxConcurrentRequests())
                    .priorityClass(EVERYBODY, 1)
                    .estimateOutput(each.estimateOutput())
                    .build()));
    return plain;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what comes of it is in the callback
  void arrive(Call call) {
    call.meters().forEach(each -> each.passage(byFifo).entered());
    TokenDecision outcome =
        governor.blocking().request(byFifo ? inOneLine(call.request()) : call.request());
    if (outcome instanceof TokenDecision.Queued queued) {
      governor
          .await(queued.ticket())
          .whenComplete((turn, failure) -> decided(call, turn == null ? null : turn.orElse(null)));
    } else {
      decided(call, outcome);
    }
  }

  private static TokenRequest inOneLine(TokenRequest request) {
    TokenRequest plain =
        TokenRequest.of(request.model(), request.tokens()).withPriorityClass(EVERYBODY);
    Duration deadline = request.maxWait();
    return deadline == null ? plain : plain.withMaxWait(deadline);
  }

  private void decided(Call call, @Nullable TokenDecision outcome) {
    long waited = time.nanoTime() - call.askedAt();
    if (outcome instanceof TokenDecision.Granted granted && !over) {
      call.meters().forEach(each -> each.passage(byFifo).served(waited));
      begin(call, granted);
    } else if (over) {
      call.meters().forEach(each -> each.passage(byFifo).leftWaiting(waited));
    } else {
      String reason =
          outcome instanceof TokenDecision.Denied refused
              ? refused.reason().name().toLowerCase(Locale.ROOT)
              : outcome instanceof TokenDecision.Impossible ? "impossible" : "lost";
      call.meters().forEach(each -> each.passage(byFifo).refused(reason));
    }
  }

  private void begin(Call call, TokenDecision.Granted granted) {
    int step = (int) (time.nanoTime() / stepNanos);
    charge(granted.model(), granted.tokens(), step);
    long end = time.nanoTime() + call.nanos();
    time.at(end, () -> settle(call, granted, step));
    extendLater(granted.reservation(), end);
  }

  private void charge(String model, long tokens, int step) {
    ModelUsageMeter meter = models.get(model);
    if (!byFifo && meter != null) {
      meter.charge(tokens, step);
    }
  }

  /** Extends the reservation periodically, as a client does during a call. */
  private void extendLater(String reservation, long end) {
    if (end - time.nanoTime() > extendNanos) {
      time.schedule(
          extendNanos,
          () -> {
            governor.blocking().extend(reservation);
            extendLater(reservation, end);
          });
    }
  }

  private void settle(Call call, TokenDecision.Granted granted, int step) {
    long used = Math.round(call.used() * granted.tokens());
    governor.blocking().settle(granted.reservation(), used).ifPresent(each -> settled(each, step));
  }

  private void settled(TokenSettlement settlement, int step) {
    charge(settlement.model(), settlement.overusedTokens() - settlement.refundedTokens(), step);
  }

  /** Counts the requests that still wait at the end, with their waits so far. */
  void close() {
    if (!byFifo) {
      governor
          .blocking()
          .status()
          .models()
          .values()
          .forEach(
              each -> {
                ModelUsageMeter meter = models.get(each.model());
                if (meter != null) {
                  meter.audited(each.audit());
                }
              });
    }
    over = true;
    governor.close();
    time.runUntil(time.nanoTime());
  }
}
