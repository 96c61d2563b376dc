package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.internal.engine.BudgetEngine;
import dev.sluice.governor.redis.TimedScripts;
import dev.sluice.governor.redis.internal.store.ReplyMapper;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The scripts and the engine of one process give the same answers to random calls, in the same
 * microsecond: the same grants in the same order, positions, waits and refunds.
 */
@Tag("any-jdk")
@Timeout(120)
class BudgetEngineDifferentialTest {
  private static final String MODEL = "m";
  private static final long MILLI = 1_000_000;
  private static final int STEPS = 400;

  @AutoClose private static final RedisServer redis = RedisServer.start();
  private static final TimedScripts scripts = new TimedScripts(redis);

  static List<Integer> seeds() {
    return IntStream.range(0, Integer.getInteger("sluice.differential.seeds", 4)).boxed().toList();
  }

  private Random random;
  private BudgetEngine engine;
  private ModelBudget budget;
  private WaitingListConfig config;
  private long micros;
  private int numbers;
  private double factor = 1;

  /** The ids of the scripts by the ids of the engine, and the other way round. */
  private final Map<String, String> names = new HashMap<>();

  private final List<String> tickets = new ArrayList<>();
  private final List<String> reservations = new ArrayList<>();
  private final List<String> done = new ArrayList<>();

  @ParameterizedTest
  @MethodSource("seeds")
  void scripts_decideAsTheEngine(int seed) {
    random = new Random(seed);
    micros = 1_000_000_000_000L + seed;
    budget = budget();
    config =
        WaitingListConfig.builder()
            .maxWaiting(5 + random.nextInt(40))
            .ticketIdleTimeout(Duration.ofSeconds(4))
            .reservationTimeout(Duration.ofSeconds(9))
            // More than all waiters: the end of a batch would change the times of grants.
            .drainBatch(1_000)
            .refillInterval(Duration.ofSeconds(60))
            .build();
    redis.command("FLUSHALL");
    engine = new BudgetEngine(MODEL, budget, config, listener(), micros * 1_000);
    run("configure", configuration());
    for (int step = 0; step < STEPS; step++) {
      micros += random.nextInt(10) == 0 ? random.nextInt(1_500_000) : random.nextInt(60_000);
      begin();
      try {
        one();
        compareStatus();
      } catch (AssertionError | RuntimeException failure) {
        throw new AssertionError(
            "seed %d, step %d, %s%n%s"
                .formatted(
                    seed,
                    step,
                    budget,
                    String.join("\n", done.subList(Math.max(0, done.size() - 24), done.size()))),
            failure);
      }
    }
  }

  private BudgetListener listener() {
    return new BudgetListener() {
      @Override
      public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
        note("    the engine grants %s after %d", request, waitedNanos / 1_000);
      }

      @Override
      public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
        note("    the engine settles %s", settled);
      }
    };
  }

  private void begin() {
    engine.advanceTo(micros * 1_000);
    drainIfDue();
    engine.takeUndelivered();
  }

  /** Drains the waiting list, as every script does. */
  private void drainIfDue() {
    if (engine.nextEventNanos() <= micros * 1_000) {
      engine.drain();
    }
  }

  // ---- calls

  private ModelBudget budget() {
    return budget(List.of(60_000L, 240_000L, 100_003L).get(random.nextInt(3)));
  }

  private ModelBudget budget(long tpm) {
    Allocation allocation = random.nextBoolean() ? Allocation.CEILING : Allocation.OFF;
    ModelBudget made =
        SeedBudget.budget(tpm, 5_000 + random.nextInt(20_000))
            .allocation(allocation)
            .priorityClasses(SeedBudget.CLASSES)
            .build();
    if (random.nextInt(3) == 0) {
      made = made.toBuilder().maxContextTokens(1 + random.nextInt(40_000)).build();
    }
    if (random.nextInt(3) == 0) {
      Limit[] requests =
          random.nextBoolean()
              ? new Limit[] {Limit.perSecond(7), Limit.perMinute(200)}
              : new Limit[] {Limit.perMinute(200)};
      made = made.toBuilder().requests(requests).build();
    }
    if (random.nextInt(3) == 0) {
      made = made.toBuilder().maxConcurrentRequests(3 + random.nextInt(5)).build();
    }
    if (random.nextInt(3) == 0) {
      made = made.toBuilder().minimumShares(Map.of("P2_batch", 0.1, "P1_user", 0.25)).build();
    }
    if (random.nextInt(2) == 0) {
      Map<String, ModelBudget.TenantBudget> tenants = new LinkedHashMap<>();
      tenants.put("a", new ModelBudget.TenantBudget(Limit.perMinute(20_000, 4_000), 2));
      if (random.nextBoolean()) {
        tenants.put("*", new ModelBudget.TenantBudget(Limit.perMinute(30_000, 6_000), 1));
      }
      made = made.toBuilder().tenants(tenants).build();
    }
    return made;
  }

  private void one() {
    int which = random.nextInt(100);
    if (which < 45) {
      ask(random.nextInt(8) == 0 ? "now" : "queue");
    } else if (which < 65) {
      settle();
    } else if (which < 75) {
      poll();
    } else if (which < 82) {
      cancel();
    } else if (which < 86) {
      extend();
    } else if (which < 92) {
      explain();
    } else if (which < 94) {
      waitingList();
    } else if (which < 95) {
      adjust();
    } else if (which < 97) {
      reload();
    } else {
      note("tick");
      run("ticket", List.of("tick"));
    }
  }

  private TokenRequest request() {
    List<String> classes = List.copyOf(budget.priorityClasses().keySet());
    long tokens = 1L + random.nextInt(random.nextInt(10) == 0 ? 30_000 : 3_000);
    TokenRequest made =
        TokenRequest.of(MODEL, tokens)
            .withPriorityClass(classes.get(random.nextInt(classes.size())))
            .withTenant(List.of("a", "b", "").get(random.nextInt(3)));
    if (random.nextInt(4) == 0) {
      made = made.withMaxWait(Duration.ofMillis(1 + random.nextInt(2_000)));
    }
    if (random.nextInt(6) == 0) {
      made = made.withIdempotencyKey("k" + random.nextInt(20));
    }
    return made;
  }

  private void ask(String mode) {
    TokenRequest request = request();
    // In the order of time, because tickets may be abandoned at the same moment.
    String id = "x%05d".formatted(numbers++);
    Duration deadline = request.maxWait();
    String key = request.idempotencyKey();
    note("ask %s %s as %s", mode, request, id);
    List<?> result =
        run(
            "request",
            List.of(
                id,
                mode,
                request.tenant(),
                request.priorityClass(),
                Long.toString(request.tokens()),
                Long.toString(request.tokens()),
                deadline == null ? "0" : Long.toString(deadline.toNanos() / 1_000),
                key == null ? "" : key,
                key == null && numbers % 4 != 0 ? "fast" : ""));
    Optional<TokenDecision> local;
    try {
      local =
          mode.equals("now") ? engine.tryAcquire(request) : Optional.of(engine.request(request));
    } catch (IllegalArgumentException other) {
      assertThat(text(result, 0)).isEqualTo("x");
      return;
    }
    compare(result, local);
  }

  private void poll() {
    if (!tickets.isEmpty()) {
      String ticket = tickets.get(random.nextInt(tickets.size()));
      note("poll %s", name(ticket));
      compare(run("ticket", List.of("poll", name(ticket))), engine.poll(ticket));
    }
  }

  private void cancel() {
    if (!tickets.isEmpty()) {
      String ticket = tickets.remove(random.nextInt(tickets.size()));
      note("cancel %s", name(ticket));
      List<?> result = run("ticket", List.of("cancel", name(ticket)));
      assertThat(number(result, 0) == 1).isEqualTo(engine.cancel(ticket));
    }
  }

  private void settle() {
    if (!reservations.isEmpty()) {
      String reservation = reservations.remove(random.nextInt(reservations.size()));
      long actual = reported();
      note("settle %s by %d", name(reservation), actual);
      List<?> result = run("settle", List.of("settle", name(reservation), Long.toString(actual)));
      Optional<TokenSettlement> local = engine.settle(reservation, actual);
      assertThat(result.isEmpty()).isEqualTo(local.isEmpty());
      local.ifPresent(
          each -> {
            assertThat(number(result, 0)).isEqualTo(each.reservedTokens());
            assertThat(number(result, 1)).isEqualTo(each.requestedTokens());
            assertThat(text(result, 2)).isEqualTo(each.tenant());
            assertThat(number(result, 3)).isEqualTo(each.refundedTokens() - each.overusedTokens());
          });
    }
  }

  /** Returns a usage, sometimes an impossible one. */
  private long reported() {
    return switch (random.nextInt(10)) {
      case 0 -> random.nextInt(5_000);
      case 1 -> random.nextInt(50_000);
      case 2 -> TokenRequest.MAX_TOKENS - random.nextInt(10);
      default -> random.nextInt(500);
    };
  }

  private void extend() {
    if (!reservations.isEmpty()) {
      String reservation = reservations.get(random.nextInt(reservations.size()));
      note("extend %s", name(reservation));
      List<?> result = run("settle", List.of("extend", name(reservation)));
      assertThat(!result.isEmpty()).isEqualTo(engine.extend(reservation));
    }
  }

  private void explain() {
    TokenRequest request = request();
    note("explain %s", request);
    List<?> result =
        run(
            "poll",
            List.of(
                "explain",
                request.tenant(),
                request.priorityClass(),
                Long.toString(request.tokens())));
    TokenExplanation local = engine.explain(request);
    String verdict = text(result, 0);
    assertThat(verdict)
        .isEqualTo(
            switch (local.outcome()) {
              case GRANTED -> "g";
              case QUEUED -> "q";
              case DENIED, IMPOSSIBLE -> "r";
            });
    assertThat(ReplyMapper.dimension(text(result, 1))).isEqualTo(local.binding());
    assertThat(known(number(result, 3))).isEqualTo(local.retryAfter());
    assertThat(number(result, 4)).isEqualTo(local.queuePosition());
    assertThat(known(number(result, 5))).isEqualTo(local.eta());
    List<TokenExplanation.DimensionStatus> parts = new ArrayList<>();
    for (Object part : result.subList(6, result.size())) {
      List<?> each = (List<?>) part;
      parts.add(
          new TokenExplanation.DimensionStatus(
              ReplyMapper.dimension(text(each, 0)),
              number(each, 1),
              number(each, 2),
              number(each, 3),
              known(number(each, 4))));
    }
    assertThat(parts).isEqualTo(local.dimensions());
  }

  private void waitingList() {
    note("waiting list");
    List<?> result = run("poll", List.of("waitingList", "0", "100"));
    WaitingListStatus local = engine.waitingList(0, 100);
    assertThat(number(result, 0)).isEqualTo(local.total());
    List<?> classes = (List<?>) result.get(1);
    Map<String, Duration> etas = new LinkedHashMap<>();
    Map<String, BudgetDimension> bindings = new LinkedHashMap<>();
    for (int i = 0; i < classes.size(); i += 3) {
      String name = text(classes, i);
      known(number(classes, i + 1)).ifPresent(eta -> etas.put(name, eta));
      bindings.put(name, ReplyMapper.dimension(text(classes, i + 2)));
    }
    assertThat(etas).isEqualTo(local.eta());
    assertThat(bindings).isEqualTo(local.binding());
    List<List<Object>> places = new ArrayList<>();
    for (Object each : result.subList(2, result.size())) {
      places.add(place((List<?>) each));
    }
    assertThat(places).isEqualTo(local.tickets().stream().map(this::place).toList());
  }

  private static List<Object> place(List<?> reply) {
    BudgetDimension binding = ReplyMapper.dimension(text(reply, 6));
    Duration waited = Duration.ofMillis(millis(number(reply, 7)));
    return List.of(text(reply, 0), number(reply, 4), known(number(reply, 5)), binding, waited);
  }

  private List<Object> place(WaitingListStatus.QueuedTicket local) {
    long position = local.queuePosition();
    return List.of(name(local.ticket()), position, local.eta(), local.binding(), local.waited());
  }

  private void adjust() {
    // Never raised: debts would be rounded up to units, which are smaller in one process.
    factor *= random.nextInt(4) == 0 ? 0.5 : 1;
    Long most = random.nextBoolean() ? null : (long) random.nextInt(10_000);
    Duration pause =
        random.nextInt(3) == 0 ? Duration.ofMillis(random.nextInt(900)) : Duration.ZERO;
    note("adjust %s %s %s", factor, most, pause);
    run(
        "configure",
        List.of(
            "adjust",
            Double.toString(factor),
            most == null ? "" : Long.toString(most),
            Long.toString(pause.toNanos() / 1_000),
            Integer.toString(numbers)));
    engine.adjust(new ProviderAdjustment(factor, most, pause));
  }

  /**
   * Reloads with the same rate, because debts are rounded up to units, which differ. And with the
   * same tenants, because Redis refunds nothing to a tenant without a budget.
   */
  private void reload() {
    ModelBudget before = budget;
    ModelBudget other = budget(before.tokens().refillTokens());
    budget =
        other.toBuilder().minimumShares(before.minimumShares()).tenants(before.tenants()).build();
    note("reload %s", budget);
    run("configure", configuration());
    engine.reload(budget, config);
  }

  // ---- answers

  private void compare(List<?> result, Optional<TokenDecision> local) {
    note("  = %s, the engine %s", result, local);
    if (local.isEmpty()) {
      assertThat(text(result, 0)).isEqualTo("n");
      return;
    }
    TokenDecision expected = local.get();
    // Tickets that are abandoned at the same moment may end in another order.
    boolean oneOfSeveral =
        expected instanceof TokenDecision.Denied refused
            && refused.reason() == TokenDecision.Reason.ABANDONED;
    if (!oneOfSeveral) {
      assertThat(number(result, 4)).isEqualTo(expected.remaining());
    }
    assertThat(text(result, 3)).isEqualTo(expected.priorityClass());
    if (expected instanceof TokenDecision.Granted granted) {
      assertThat(text(result, 0)).isEqualTo("g");
      assertThat(number(result, 5)).isEqualTo(granted.tokens());
      assertThat(number(result, 2)).isEqualTo(granted.requestedTokens());
      remember(granted.reservation(), text(result, 1), reservations);
    } else if (expected instanceof TokenDecision.Queued queued) {
      assertThat(text(result, 0)).isEqualTo("q");
      assertThat(ReplyMapper.dimension(text(result, 8))).isEqualTo(queued.binding());
      assertThat(known(number(result, 5))).isEqualTo(queued.retryAfter());
      assertThat(number(result, 6)).isEqualTo(queued.queuePosition());
      assertThat(known(number(result, 7))).isEqualTo(queued.eta());
      remember(queued.ticket(), text(result, 1), tickets);
    } else if (expected instanceof TokenDecision.Denied refused) {
      assertThat(text(result, 0)).isEqualTo("r");
      assertThat(ReplyMapper.reason(text(result, 5))).isEqualTo(refused.reason());
    } else {
      assertThat(text(result, 0)).isEqualTo("r");
      assertThat(text(result, 5)).isEqualTo("EXCEEDS_CAPACITY");
    }
  }

  private void remember(String local, String id, List<String> all) {
    if (names.put(local, id) == null) {
      all.add(local);
    }
  }

  private String name(String local) {
    return Objects.requireNonNull(names.get(local));
  }

  private void compareStatus() {
    drainIfDue();
    List<?> result = run("poll", List.of("status"));
    GovernorStatus.Model local = engine.status();
    assertThat(number(result, 0)).isEqualTo(local.available());
    assertThat(number(result, 1)).isEqualTo(local.running());
    assertThat(number(result, 2)).isEqualTo(local.counts().totalRequests());
    assertThat(number(result, 3)).isEqualTo(local.counts().acceptedRequests());
    assertThat(number(result, 4)).isEqualTo(local.counts().tokensConsumed());
    Map<String, Integer> lengths = new LinkedHashMap<>();
    assertThat(number(result, 7)).isEqualTo(local.capacity());
    assertThat(number(result, 8)).isEqualTo(local.targetTpm());
    GovernorStatus.Exhaustion head = local.exhaustion().orElse(null);
    assertThat(text(result, 9)).isEqualTo(head == null ? "" : head.dimension().name());
    assertThat(number(result, 10)).isEqualTo(head == null ? 0 : head.needed());
    assertThat(number(result, 11)).isEqualTo(head == null ? 0 : head.duration().toNanos() / 1_000);
    for (int i = 13; i < result.size(); i += 2) {
      lengths.put(text(result, i), (int) number(result, i + 1));
    }
    assertThat(lengths).isEqualTo(local.queueLengths());
  }

  @SuppressWarnings("AnnotateFormatMethod") // the annotation is of a library that is not here
  private void note(String format, Object... values) {
    done.add(micros + " " + format.formatted(values));
  }

  /** Returns a duration; empty for a negative time, which is unknown. */
  private static Optional<Duration> known(long micros) {
    return micros < 0 ? Optional.empty() : Optional.of(Duration.ofMillis(millis(micros)));
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros * 1_000 + MILLI - 1, MILLI);
  }

  private static long number(List<?> values, int index) {
    return (Long) Objects.requireNonNull(values.get(index));
  }

  private static String text(List<?> values, int index) {
    return (String) Objects.requireNonNull(values.get(index));
  }

  // ---- scripts

  /** Runs a script at the time of this test. */
  private List<?> run(String name, List<String> arguments) {
    return scripts.run(name, micros, arguments);
  }

  private List<String> configuration() {
    return TimedScripts.configuration(MODEL, budget, config);
  }
}
