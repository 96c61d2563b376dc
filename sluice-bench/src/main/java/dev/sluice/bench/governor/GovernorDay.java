package dev.sluice.bench.governor;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.testkit.contract.ManualStoreTimer;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A model at a virtual time, with ten times as many requests as it can serve: arrivals at random,
 * of 1 to 4,000 tokens, all of whom wait for their turn, use some part of it some seconds later and
 * settle. The highest class asks for half of what there is, the one between for all the rest. Of
 * the last there are a few clients that always have one more request, a second after they were
 * granted the one before.
 */
final class GovernorDay {
  private static final long TARGET = 240_000;
  private static final long BURST = 300_000;
  private static final long SECOND = 1_000_000_000L;
  private static final long MINUTE = 60 * SECOND;
  private static final String MODEL = "model";
  private static final int LARGEST = 4_000;
  private static final String LAST = "P2_batch";
  private static final int BATCH_CLIENTS = 4;
  private static final double OVERLOAD = 10;
  private static final double MEAN_SECONDS = 5;

  private final Random random;
  private final double share;
  private final ManualStoreTimer time = new ManualStoreTimer();
  private final Governor governor;
  private final List<Call> grants = new ArrayList<>();
  private final Map<String, Long> inLine = new HashMap<>();
  private long until;
  private long refused;

  private static final class Call {
    final TokenRequest request;
    final long askedAt;
    final long ahead;
    long grantedAt;
    long net;

    Call(TokenRequest request, long askedAt, long ahead) {
      this.request = request;
      this.askedAt = askedAt;
      this.ahead = ahead;
    }

    double waited() {
      return (double) (grantedAt - askedAt) / SECOND;
    }
  }

  /** With a minimum share of the last class; 0 for none. */
  GovernorDay(long seed, double share) {
    this.random = new Random(seed);
    this.share = share;
    ModelBudget budget = SeedBudget.budget(TARGET, BURST).build();
    if (share > 0) {
      budget = budget.toBuilder().minimumShare(LAST, share).build();
    }
    governor =
        Governor.builder(BudgetConfig.builder().models(Map.of(MODEL, budget)).build())
            .clock(time)
            .build();
  }

  GovernorDay run(long minutes) {
    until = minutes * MINUTE;
    arriveLater("P0_clinical", 0.5);
    arriveLater("P1_user", OVERLOAD - 0.5);
    for (int i = 0; i < BATCH_CLIENTS; i++) {
      time.schedule(SECOND, this::batch);
    }
    // Not closed: those who still wait then were not refused.
    time.advance(Duration.ofNanos(until));
    return this;
  }

  private void arriveLater(String priority, double load) {
    double mean = (double) MINUTE * (LARGEST + 1) / 2 / (TARGET * load);
    time.schedule(
        (long) (-Math.log(1 - random.nextDouble()) * mean),
        () -> {
          arrive(TokenRequest.of(MODEL, 1 + random.nextInt(LARGEST)).withPriorityClass(priority));
          arriveLater(priority, load);
        });
  }

  private void batch() {
    arrive(TokenRequest.of(MODEL, 1 + random.nextInt(LARGEST)).withPriorityClass(LAST));
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it is looked at in the callback
  private void arrive(TokenRequest request) {
    Call call =
        new Call(request, time.nanoTime(), inLine.getOrDefault(request.priorityClass(), 0L));
    inLine.merge(request.priorityClass(), request.tokens(), Long::sum);
    TokenDecision outcome = governor.blocking().request(request);
    if (outcome instanceof TokenDecision.Queued queued) {
      governor
          .await(queued.ticket())
          .whenComplete((turn, failure) -> turn.ifPresent(each -> decided(call, each)));
    } else {
      decided(call, outcome);
    }
  }

  private void decided(Call call, TokenDecision outcome) {
    inLine.merge(call.request.priorityClass(), -call.request.tokens(), Long::sum);
    if (outcome instanceof TokenDecision.Granted granted) {
      call.grantedAt = time.nanoTime();
      call.net = granted.tokens();
      grants.add(call);
      time.schedule(
          (long) (-Math.log(1 - random.nextDouble()) * MEAN_SECONDS * SECOND),
          () -> settle(call, granted));
    } else {
      refused++;
    }
    if (call.request.priorityClass().equals(LAST)) {
      time.schedule(SECOND, this::batch);
    }
  }

  private void settle(Call call, TokenDecision.Granted granted) {
    long used = random.nextInt((int) granted.tokens() + 1);
    TokenSettlement settlement =
        governor.blocking().settle(granted.reservation(), used).orElseThrow();
    call.net -= settlement.refundedTokens();
  }

  // ---- what came of it

  int granted() {
    return grants.size();
  }

  long refused() {
    return refused;
  }

  /** Tokens that were granted and not given back, by those that the limit allows. */
  double utilization() {
    double allowed = BURST + (double) TARGET * until / MINUTE;
    return grants.stream().mapToLong(each -> each.net).sum() / allowed;
  }

  /** By how many tokens the worst 60 seconds were above the burst and what accrues in them. */
  long overAdmission() {
    long worst = 0;
    long sum = 0;
    int from = 0;
    for (Call last : grants) {
      sum += last.net;
      while (grants.get(from).grantedAt < last.grantedAt - MINUTE) {
        sum -= grants.get(from).net;
        from++;
      }
      worst = Math.max(worst, sum - BURST - TARGET);
    }
    return worst;
  }

  private double[] waits(String priority) {
    return grants.stream()
        .filter(each -> each.request.priorityClass().equals(priority))
        .mapToDouble(Call::waited)
        .sorted()
        .toArray();
  }

  double waitSeconds(String priority, double quantile) {
    double[] waits = waits(priority);
    return waits[(int) Math.min(waits.length - 1, Math.ceil(quantile * waits.length))];
  }

  /** The longest wait of the highest class, in times of what it and those before it refill in. */
  double urgentOverBound() {
    return grants.stream()
        .filter(each -> each.request.priorityClass().equals("P0_clinical"))
        .mapToDouble(each -> each.waited() / seconds(each.ahead + each.request.tokens(), 1))
        .max()
        .orElseThrow();
  }

  /** The longest wait of the last class, in times of what is promised for its share. */
  double lastOverBound() {
    return grants.stream()
        .filter(each -> each.request.priorityClass().equals(LAST))
        .mapToDouble(
            each -> {
              long tokens = each.request.tokens();
              return each.waited() / (seconds(each.ahead + tokens, share) + seconds(tokens, 1));
            })
        .max()
        .orElseThrow();
  }

  private static double seconds(long tokens, double share) {
    // A nanosecond more: grants come at whole ones.
    return tokens * 60.0 / (TARGET * share) + 1e-9;
  }
}
