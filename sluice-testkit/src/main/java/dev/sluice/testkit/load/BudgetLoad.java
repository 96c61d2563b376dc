package dev.sluice.testkit.load;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.WaitingListConfig;
import dev.sluice.testkit.Await;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Callers of one node of a fleet, who come whether others wait or not: of mixed classes and
 * tenants, with deadlines and keys. Some give up while they wait, some ask again; who is granted
 * settles for less or more after a while, now and then after an extension, or never.
 *
 * <p>Where calls may fail, callers retry a few times, every granted request is settled, and the log
 * records requests whose outcome is unknown: only these may hold a slot in the end.
 *
 * @since 0.1
 */
public final class BudgetLoad implements AutoCloseable {
  /** A model with budgets of tenants and a share for the last class. */
  public static final String MIXED = "mixed";

  /** A model with tokens alone. */
  public static final String PLAIN = "plain";

  /** Tokens that both accrue in a second, which is their burst too. */
  public static final long PER_SECOND = 60_000;

  /** The same, as a budget says it. */
  public static final long PER_MINUTE = 60 * PER_SECOND;

  /** The tokens that a caller requests on average. */
  private static final long MEAN = PER_SECOND / 8;

  private static final String[] CLASSES = {"P0_clinical", "P1_user", "P2_batch"};
  private static final String[] TENANTS = {"a", "b", "c"};
  private static final long TICK_MILLIS = 10;
  private static final double PERIOD_SECONDS = 3;
  private static final double BURST_SPEED = 10;
  private static final int TRIES = 4;

  private final BudgetStore store;
  private final BudgetLog log;
  private final String name;
  private final double perSecond;
  private final boolean inBursts;
  private final double keyed;
  private final SplittableRandom random;
  private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
  private final AtomicInteger underWay = new AtomicInteger();
  private long began;
  private double beganInPeriod;
  private long asked;

  /**
   * A load that has not begun.
   *
   * @param store not closed by it
   * @param log of this node, which also listens to the store
   * @param name what its keys begin with
   * @param overload of the rate of each model, on average; below 1 callers come in bursts, of all
   *     nodes at the same time, and hold what they got for up to seconds: so budgets are full in
   *     between, and grants are repaid before they are settled
   * @param keyed the part of callers who have a key; 1 if calls may fail
   */
  public BudgetLoad(BudgetStore store, BudgetLog log, String name, double overload, double keyed) {
    this.store = store;
    this.log = log;
    this.name = name;
    this.perSecond = 2 * overload * PER_SECOND / MEAN;
    this.inBursts = overload < 1;
    this.keyed = keyed;
    this.random = new SplittableRandom(name.hashCode());
  }

  /**
   * The models.
   *
   * @param life of a reservation
   * @param patience with a ticket
   */
  public static BudgetConfig config(Duration life, Duration patience) {
    ModelBudget plain = SeedBudget.budget(PER_MINUTE, PER_SECOND).build();
    ModelBudget mixed =
        plain.toBuilder()
            .priorityClasses(plain.priorityClasses())
            .minimumShares(Map.of(CLASSES[2], 0.2))
            .tenants(
                Map.of(
                    TENANTS[0],
                    new ModelBudget.TenantBudget(
                        Limit.perMinute(PER_MINUTE / 5, PER_SECOND / 2), 2),
                    ModelBudget.OTHER_TENANTS,
                    new ModelBudget.TenantBudget(Limit.perMinute(PER_MINUTE, PER_SECOND), 1)))
            .maxConcurrentRequests(200)
            .build();
    return BudgetConfig.builder()
        .models(Map.of(MIXED, mixed, PLAIN, plain))
        .waitingList(
            WaitingListConfig.builder()
                .maxWaiting(2_000)
                .ticketIdleTimeout(patience)
                .reservationTimeout(life)
                .drainBatch(10)
                .refillInterval(Duration.ofSeconds(60))
                .build())
        .build();
  }

  /** Callers come from now on. */
  public void start() {
    began = System.nanoTime();
    beganInPeriod = System.currentTimeMillis() / 1e3 % PERIOD_SECONDS;
    var unused = timer.scheduleAtFixedRate(this::come, 0, TICK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Stops new callers; returns when all others are done, or after the limit. */
  public void stop(Duration limit) {
    perform(() -> began = 0);
    Await.until(() -> underWay + " callers are done", limit, () -> underWay.get() == 0);
  }

  /** Drops the remaining callers. */
  @Override
  public void close() {
    timer.shutdownNow();
  }

  private void come() {
    if (began == 0) {
      return;
    }
    double due = secondsOfLoad((System.nanoTime() - began) / 1e9) * perSecond;
    // After a standstill of the process not all at once.
    asked = Math.max(asked, (long) (due - perSecond));
    while (asked < due) {
      ask(new Caller(asked++));
    }
  }

  /** In bursts, all of a period come in its first tenth. */
  private double secondsOfLoad(double passed) {
    if (!inBursts) {
      return passed;
    }
    double now = beganInPeriod + passed;
    double period = Math.floor(now / PERIOD_SECONDS) * PERIOD_SECONDS;
    return period + Math.min(PERIOD_SECONDS, BURST_SPEED * (now - period));
  }

  /** A caller and its plan. */
  private final class Caller {
    final TokenRequest request;
    final @Nullable String key;
    final boolean givesUp;
    final boolean asksAgain;
    final long pauseMillis;
    final double use;
    final boolean extendsIt;
    int tries;

    Caller(long number) {
      int rank = pick(0.05, 0.25);
      key = random.nextDouble() < keyed ? name + '-' + number : null;
      long tokens =
          rank == 2
              ? random.nextLong(MEAN / 2, PER_SECOND / 5)
              : random.nextLong(MEAN / 3, PER_SECOND / 5);
      TokenRequest plain =
          TokenRequest.of(number % 2 == 0 ? MIXED : PLAIN, tokens)
              .withPriorityClass(CLASSES[rank])
              .withTenant(TENANTS[random.nextInt(TENANTS.length)])
              .withMaxWait(Duration.ofMillis(rank == 0 ? 5_000 : random.nextLong(300, 2_000)));
      request = key == null ? plain : plain.withIdempotencyKey(key);
      givesUp = key != null && random.nextDouble() < 0.05;
      asksAgain = key != null && !givesUp && random.nextDouble() < 0.1;
      pauseMillis = random.nextLong(20, inBursts ? 2_500 : 200);
      extendsIt = random.nextDouble() < 0.1;
      use = useOf(pick(callsMayFail() ? 0 : 0.1, 0.1, 0.2));
    }

    private int pick(double... parts) {
      double chosen = random.nextDouble();
      int at = 0;
      while (at < parts.length && chosen >= parts[at]) {
        chosen -= parts[at++];
      }
      return at;
    }

    /** Of what was granted; less than 0 if it is never settled. */
    private double useOf(int kind) {
      return switch (kind) {
        case 0 -> -1;
        case 1 -> 1 + random.nextDouble() / 2;
        case 2 -> 1;
        default -> random.nextDouble();
      };
    }
  }

  private boolean callsMayFail() {
    return keyed == 1;
  }

  private void ask(Caller caller) {
    underWay.incrementAndGet();
    log.asking(caller.request);
    var unused = tryOnce(caller).whenComplete((done, failure) -> underWay.decrementAndGet());
  }

  private CompletableFuture<Void> tryOnce(Caller caller) {
    caller.tries++;
    return store
        .request(caller.request)
        .thenCompose(outcome -> follow(caller, outcome))
        .exceptionallyCompose(
            failure -> {
              failed("request", caller, caller.request.tokens(), failure);
              return tryAgain(caller);
            });
  }

  private CompletableFuture<Void> tryAgain(Caller caller) {
    return callsMayFail() && caller.tries < TRIES
        ? after(caller.pauseMillis).thenCompose(then -> tryOnce(caller))
        : done();
  }

  private void failed(String call, Caller caller, long tokens, Throwable failure) {
    Throwable cause = failure.getCause();
    log.failed(call, cause == null ? failure : cause);
    // It may have been granted nevertheless, and returned later.
    mayReturn(caller, tokens);
  }

  private void mayReturn(Caller caller, long tokens) {
    if (caller.key != null && tokens > 0) {
      log.mayReturn(caller.key, tokens);
    }
  }

  private CompletableFuture<Void> follow(Caller caller, TokenDecision outcome) {
    if (outcome instanceof TokenDecision.Granted granted) {
      log.told(caller.key, granted.reservation());
      return hold(caller, granted);
    }
    if (outcome instanceof TokenDecision.Queued queued) {
      CompletableFuture<Void> again = caller.asksAgain ? askAgain(caller, queued) : done();
      CompletableFuture<Void> left = caller.givesUp ? giveUp(caller, queued) : done();
      return store
          .await(queued.ticket())
          .thenCombine(CompletableFuture.allOf(again, left), (each, rest) -> each)
          .thenCompose(decided -> decided(caller, decided));
    }
    TokenDecision.Reason reason = ((TokenDecision.Denied) outcome).reason();
    log.ended(reason.name());
    if (reason == TokenDecision.Reason.UNAVAILABLE) {
      mayReturn(caller, caller.request.tokens());
      return tryAgain(caller);
    }
    if (caller.tries == 1) {
      log.over(caller.key);
    }
    return done();
  }

  private static CompletableFuture<Void> done() {
    return CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> decided(Caller caller, Optional<TokenDecision> decided) {
    TokenDecision outcome = decided.orElse(null);
    if (outcome instanceof TokenDecision.Granted granted) {
      log.claimed(caller.key);
      log.told(caller.key, granted.reservation());
    }
    if (outcome instanceof TokenDecision.Granted granted && !caller.givesUp) {
      return hold(caller, granted);
    }
    if (outcome == null) {
      // It may have been granted after its caller stopped polling.
      mayReturn(caller, caller.request.tokens());
    }
    log.ended(endOf(caller, outcome));
    log.over(caller.key);
    return done();
  }

  private static String endOf(Caller caller, @Nullable TokenDecision outcome) {
    if (outcome instanceof TokenDecision.Denied refused) {
      return refused.reason().name();
    }
    if (outcome instanceof TokenDecision.Impossible) {
      return "IMPOSSIBLE";
    }
    return caller.givesUp ? "GIVEN_BACK" : "GONE";
  }

  /** The same request finds its place, or what became of it. */
  private CompletableFuture<Void> askAgain(Caller caller, TokenDecision.Queued queued) {
    return store
        .request(caller.request)
        .thenAccept(
            outcome -> {
              if (outcome instanceof TokenDecision.Granted granted) {
                log.told(caller.key, granted.reservation());
              }
              if (outcome instanceof TokenDecision.Queued other
                  && !other.ticket().equals(queued.ticket())) {
                log.wrong("again " + queued.ticket() + ' ' + other.ticket());
              }
            });
  }

  private CompletableFuture<Void> giveUp(Caller caller, TokenDecision.Queued queued) {
    return after(caller.pauseMillis)
        .thenCompose(
            then -> {
              mayReturn(caller, caller.request.tokens());
              return CompletableFuture.allOf(store.cancel(queued.ticket()));
            });
  }

  private CompletableFuture<Void> hold(Caller caller, TokenDecision.Granted granted) {
    return after(caller.pauseMillis)
        .thenCompose(
            then ->
                caller.extendsIt
                    ? CompletableFuture.allOf(store.extend(granted.reservation()))
                    : done())
        .thenCompose(then -> caller.use < 0 ? done() : settle(caller, granted));
  }

  private CompletableFuture<Void> settle(Caller caller, TokenDecision.Granted granted) {
    long used = (long) (caller.use * granted.tokens());
    log.settling(caller.key, Math.max(0, granted.tokens() - used));
    return store
        .settle(granted.reservation(), used)
        .handle(
            (settled, failure) -> {
              if (failure != null) {
                failed("settle", caller, Math.max(0, granted.tokens() - used), failure);
              } else if (settled.isEmpty()) {
                log.ended("EXPIRED");
              } else {
                // Where the store is away it is told later.
                long unused = Math.max(0, granted.tokens() - used);
                mayReturn(caller, unused - settled.orElseThrow().refundedTokens());
              }
              log.settled(caller.key);
              log.over(caller.key);
              return null;
            });
  }

  private CompletableFuture<Void> after(long millis) {
    CompletableFuture<Void> then = new CompletableFuture<>();
    var unused = timer.schedule(() -> then.complete(null), millis, TimeUnit.MILLISECONDS);
    return then;
  }

  private void perform(Runnable action) {
    CompletableFuture.runAsync(action, timer).join();
  }
}
