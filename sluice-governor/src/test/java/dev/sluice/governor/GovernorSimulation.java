package dev.sluice.governor;

import static dev.sluice.governor.Rig.P0;
import static dev.sluice.governor.Rig.P1;
import static dev.sluice.governor.Rig.P2;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.spi.StoreTimer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Hours of clients at a governor, by a seed: they come at random, more than can be served at times,
 * ask, wait, poll, retry, give up, crash and settle. All that is known here is what the governor
 * told them.
 */
final class GovernorSimulation {
  /** Six in {@code ./test --nightly}, else three. */
  static final long HOURS = Integer.getInteger("sluice.seeds", 500) > 500 ? 6 : 3;

  static final long TARGET = 24_000;
  static final long BURST = 60_000;
  static final int CONCURRENCY = 25;
  static final long RPM = 40;
  static final double SHARE = 0.1;
  static final long LARGEST = 4_000;
  static final int LINE = 400;

  /** Tokens alone. */
  static final String PLAIN = "plain";

  /** Ceilings, tenants with budgets and weights, requests in a minute and at once. */
  static final String STRICT = "strict";

  /** The last class has a minimum share. */
  static final String SHARED = "shared";

  static final List<String> MODELS = List.of(PLAIN, STRICT, SHARED);
  static final Map<String, ModelBudget.TenantBudget> TENANTS =
      Map.of(
          "large", new ModelBudget.TenantBudget(Limit.perMinute(12_000, 20_000), 3),
          "small", new ModelBudget.TenantBudget(Limit.perMinute(3_000, 8_000), 1));

  private static final long PHASE = 30 * WaitingListFixture.MINUTE;
  private static final long SETTLING = 2 * WaitingListFixture.MINUTE;
  private static final double[] LOADS = {0.3, 10, 0.8, 2, 1, 5};
  private static final double MEAN_TOKENS = 1_500;

  final VirtualTimer timer = new VirtualTimer();
  final Governor governor;
  final List<Call> calls = new ArrayList<>();

  /** Grants from the waiting list or at once, in the order in which they became known. */
  final List<Call> grants = new ArrayList<>();

  /** Admitted by allowed, of each phase in which more was asked for than there was. */
  final Map<String, Double> utilization = new LinkedHashMap<>();

  /** By the governor. */
  long timersSet;

  private final Random random;
  private final Map<String, Long> waitingTokens = new HashMap<>();

  /** How a client behaves in line. */
  enum Manner {
    AWAITS,
    POLLS,
    RETRIES,
    CANCELS,
    LEAVES
  }

  /** A request and what became of it. */
  static final class Call {
    final int number;
    final TokenRequest request;
    final long askedAt;
    final Manner manner;

    /** Of its class, in line when it came. */
    final long ahead;

    String ticket = "";
    long grantedAt = -1;
    boolean atOnce;

    /** The tokens that are charged in the end, by the model's refunds. */
    long charged;

    /** The fewest tokens that are charged in the end. */
    long used;

    boolean crashed;

    Call(int number, TokenRequest request, long askedAt, Manner manner, long ahead) {
      this.number = number;
      this.request = request;
      this.askedAt = askedAt;
      this.manner = manner;
      this.ahead = ahead;
    }

    @Override
    public String toString() {
      return "%s of %s asked at %d, granted at %d".formatted(manner, request, askedAt, grantedAt);
    }
  }

  GovernorSimulation(long seed) {
    random = new Random(seed);
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put(PLAIN, SeedBudget.budget(TARGET, BURST).build());
    models.put(
        STRICT,
        SeedBudget.budget(TARGET, BURST)
            .allocation(Allocation.CEILING)
            .priorityClasses(SeedBudget.CLASSES)
            .requests(Limit.perMinute(RPM))
            .maxConcurrentRequests(CONCURRENCY)
            .tenants(TENANTS)
            .build());
    models.put(
        SHARED,
        SeedBudget.budget(TARGET, BURST)
            .priorityClasses(SeedBudget.CLASSES)
            .minimumShares(Map.of(P2, SHARE))
            .build());
    governor =
        Governor.builder(Rig.config(models, Rig.rules(LINE, Duration.ofSeconds(30))))
            .clock(countedTimer())
            .build();
  }

  /** The same time, that counts what the governor wants of it. */
  private StoreTimer countedTimer() {
    return new StoreTimer() {
      @Override
      public long nanoTime() {
        return timer.nanoTime();
      }

      @Override
      public void schedule(long nanos, Runnable action) {
        timersSet++;
        timer.schedule(nanos, action);
      }

      @Override
      public void execute(Runnable action) {
        timer.execute(action);
      }

      @Override
      public void close() {
        timer.close();
      }
    };
  }

  /** All of it, and then as long again without requests, so that everything open ends. */
  void run() {
    for (String model : MODELS) {
      arriveAfter(model);
    }
    for (int phase = 0; phase < HOURS * 2; phase++) {
      timer.advance(SETTLING);
      Map<String, Long> before = consumed();
      timer.advance(PHASE - SETTLING);
      // Of twice as much as there is, much is given back or up again.
      if (LOADS[phase % LOADS.length] >= 5) {
        long allowed = TARGET * (PHASE - SETTLING) / WaitingListFixture.MINUTE;
        for (String model : List.of(PLAIN, SHARED)) {
          long admitted = consumed().get(model) - before.get(model);
          utilization.put(phase + " " + model, (double) admitted / allowed);
        }
      }
      requireSlots();
    }
    timer.advance(HOURS * 60 * WaitingListFixture.MINUTE);
  }

  private boolean isOver() {
    return timer.nanoTime() >= HOURS * 60 * WaitingListFixture.MINUTE;
  }

  private Map<String, Long> consumed() {
    Map<String, Long> consumed = new HashMap<>();
    governor
        .blocking()
        .status()
        .models()
        .forEach((model, status) -> consumed.put(model, status.counts().tokensConsumed()));
    return consumed;
  }

  private void requireSlots() {
    assertThat(governor.blocking().status().models().get(STRICT).running())
        .isLessThanOrEqualTo(CONCURRENCY);
  }

  // ---- clients

  private void arriveAfter(String model) {
    double load = LOADS[(int) (timer.nanoTime() / PHASE) % LOADS.length];
    double mean = WaitingListFixture.MINUTE * MEAN_TOKENS / (TARGET * load);
    timer.schedule(
        (long) (-Math.log(1 - random.nextDouble()) * mean),
        () -> {
          if (!isOver()) {
            arrive(model, load);
            arriveAfter(model);
          }
        });
  }

  private void arrive(String model, double load) {
    // The highest class alone is never more than half of what there is.
    double urgent = Math.min(0.2, 0.5 / load);
    double draw = random.nextDouble();
    String priority = draw < urgent ? P0 : draw < 0.7 ? P1 : P2;
    long tokens = 1 + (long) (random.nextDouble() * (2 * MEAN_TOKENS - 1));
    if (random.nextInt(50) == 0) {
      tokens = LARGEST;
    }
    Manner manner = manner(model);
    TokenRequest request = TokenRequest.of(model, tokens).withPriorityClass(priority);
    if (model.equals(STRICT)) {
      request = request.withTenant(List.of("large", "small", "none").get(random.nextInt(3)));
    }
    if (manner == Manner.RETRIES) {
      request = request.withIdempotencyKey("call-" + calls.size());
    }
    if (random.nextInt(20) == 0) {
      request = request.withMaxWait(Duration.ofMillis(1 + random.nextInt(60_000)));
    }
    String line = model + priority;
    long ahead = waitingTokens.getOrDefault(line, 0L);
    Call call = new Call(calls.size(), request, timer.nanoTime(), manner, ahead);
    calls.add(call);
    waitingTokens.merge(line, tokens, Long::sum);
    TokenDecision outcome = governor.blocking().request(request);
    if (outcome instanceof TokenDecision.Queued queued) {
      call.ticket = queued.ticket();
      waitInLine(call);
    } else {
      call.atOnce = true;
      decided(call, outcome);
    }
  }

  /** Without polls, so that waits can be measured to the nanosecond. */
  private Manner manner(String model) {
    int draw = random.nextInt(20);
    if (!model.equals(STRICT) || draw < 12) {
      return draw == 19 ? Manner.CANCELS : Manner.AWAITS;
    }
    return Manner.values()[1 + draw % 4];
  }

  private void waitInLine(Call call) {
    switch (call.manner) {
      case AWAITS -> await(call);
      case CANCELS -> {
        await(call);
        timer.schedule(random.nextInt(60) * WaitingListFixture.SECOND, () -> cancel(call));
      }
      case POLLS, RETRIES ->
          timer.schedule(
              (5 + random.nextInt(20)) * WaitingListFixture.SECOND, () -> lookAgain(call));
      case LEAVES -> left(call);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // it is looked at in the callback
  private void await(Call call) {
    governor
        .await(call.ticket)
        .whenComplete((outcome, failure) -> decided(call, outcome.orElseThrow()));
  }

  private void cancel(Call call) {
    if (call.grantedAt < 0) {
      governor.blocking().cancel(call.ticket);
    }
  }

  private void lookAgain(Call call) {
    TokenDecision outcome =
        call.manner == Manner.RETRIES && !isOver()
            ? governor.blocking().request(call.request)
            : governor.blocking().poll(call.ticket).orElse(null);
    if (outcome instanceof TokenDecision.Queued queued) {
      assertThat(queued.ticket()).isEqualTo(call.ticket);
      timer.schedule((5 + random.nextInt(20)) * WaitingListFixture.SECOND, () -> lookAgain(call));
    } else if (outcome != null) {
      decided(call, outcome);
    } else {
      left(call);
    }
  }

  private void left(Call call) {
    waitingTokens.merge(
        call.request.model() + call.request.priorityClass(), -call.request.tokens(), Long::sum);
  }

  private void decided(Call call, TokenDecision outcome) {
    left(call);
    if (outcome instanceof TokenDecision.Granted granted) {
      assertThat(call.grantedAt).isNegative();
      call.grantedAt = timer.nanoTime();
      call.charged = granted.tokens();
      call.used = granted.tokens();
      grants.add(call);
      call.crashed = random.nextInt(40) == 0;
      if (!call.crashed) {
        long nanos = (long) (-Math.log(1 - random.nextDouble()) * 20 * WaitingListFixture.SECOND);
        timer.schedule(Math.min(nanos, 9 * WaitingListFixture.MINUTE), () -> settle(call, granted));
      }
    }
  }

  private void settle(Call call, TokenDecision.Granted granted) {
    long actual = (long) (random.nextDouble() * (granted.tokens() + 1));
    if (call.request.model().equals(STRICT) && random.nextInt(10) == 0) {
      actual += granted.tokens() / 4;
    }
    TokenSettlement settlement =
        governor
            .blocking()
            .settle(granted.reservation(), actual)
            .orElseThrow(() -> new AssertionError("it was claimed, and is gone: " + call));
    call.charged = granted.tokens() - settlement.refundedTokens() + settlement.overusedTokens();
    call.used = Math.min(granted.tokens(), actual);
    assertThat(governor.blocking().settle(granted.reservation(), actual)).isEmpty();
  }
}
