package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.Hiccups;
import dev.sluice.testkit.load.LoadThreads;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis fails under load: no call waits, the limit holds, and the stored state is right. */
@Tag("long")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FleetOutageTest {
  /** The time for which a killed Redis is down. */
  private static final Duration AWAY = Duration.ofSeconds(Long.getLong("sluice.outage.seconds", 2));

  /** The timeout and 50 ms. */
  private static final long MOST_MILLIS = 550;

  private static final long BURST = 200;
  private static final long PER_SECOND = 400;
  private static final BudgetConfig CONFIG =
      config(SeedBudget.budget(PER_SECOND * 60, BURST).build());

  /** Never full during a test, so that every token shows in the level. */
  private static final long LARGE = 10_000_000;

  /** Threads that constantly request tokens of two nodes, and record every grant and slow call. */
  private static final class Load implements AutoCloseable {
    private static final long PAUSE_NANOS = 300_000;
    private final LoadThreads threads = new LoadThreads();
    private final GrantLedger grants = new GrantLedger();
    private final AtomicLong refunds = new AtomicLong();

    Load(List<OutageRig> rigs, boolean settles) {
      for (OutageRig rig : rigs) {
        for (int i = 0; i < 2; i++) {
          Deque<TokenDecision.Granted> reservations = new ArrayDeque<>();
          threads.start(PAUSE_NANOS, () -> askAndSettle(rig, reservations, settles ? 1 : 2));
        }
      }
    }

    private void askAndSettle(
        OutageRig rig, Deque<TokenDecision.Granted> reservations, long actual) {
      long from = System.nanoTime();
      Optional<TokenDecision> outcome =
          threads.timed(() -> get(rig.store.tryAcquire(OutageRig.request(2))));
      if (outcome.orElse(null) instanceof TokenDecision.Granted granted) {
        grants.granted(from, System.nanoTime(), granted.tokens());
        reservations.add(granted);
      }
      if (reservations.size() > 3) {
        settle(rig, reservations.removeFirst(), actual);
      }
    }

    private void settle(OutageRig rig, TokenDecision.Granted granted, long actual) {
      threads
          .timed(() -> get(rig.store.settle(granted.reservation(), actual)))
          .ifPresent(settled -> refunds.addAndGet(settled.refundedTokens()));
    }

    @Override
    public void close() {
      threads.close();
    }
  }

  private static List<OutageRig> open(List<String> uris, BudgetConfig config) {
    return uris.stream().map(uri -> OutageRig.local(uri, uris.size(), config)).toList();
  }

  @Test
  void killedPausedAndSilent_noWindowHasMoreThanTheLimit() {
    try (RedisServer server = RedisServer.builder().data().start();
        TcpProxy one = TcpProxy.to(server);
        TcpProxy two = TcpProxy.to(server);
        Hiccups hiccups = new Hiccups()) {
      List<OutageRig> rigs = open(List.of(one.uri(), two.uri()), CONFIG);
      Load load = new Load(rigs, false);
      try (load) {
        during(Duration.ofMillis(700));
        two.refuse();
        server.kill();
        through(rigs, Duration.ofSeconds(2), () -> oneAfterTheOther(server, rigs.get(0), two));
        server.kill();
        through(rigs, AWAY, server::restart);
        server.pause();
        through(rigs, Duration.ofSeconds(2), server::resume);
        one.blackHole();
        two.blackHole();
        through(
            rigs,
            Duration.ofSeconds(2),
            () -> {
              one.heal();
              two.heal();
            });
        during(Duration.ofSeconds(1));
      } finally {
        rigs.forEach(OutageRig::close);
      }
      long excess = load.grants.excess(BURST, PER_SECOND);
      long byShares = rigs.stream().mapToLong(rig -> rig.granted.get()).sum();
      long millis = load.threads.slowestMillis(hiccups);
      System.out.printf(
          "outages of budgets: %d tokens, by shares %d, excess %d; slowest call %d ms, less pauses"
              + " %d ms%n",
          load.grants.tokens(), byShares, excess, load.threads.slowestMillis(), millis);
      // The clocks of Redis and of this process may drift apart by a few milliseconds.
      assertThat(excess).isLessThanOrEqualTo(2);
      assertThat(byShares).isGreaterThan(800);
      assertThat(load.grants.tokens()).isGreaterThan(byShares + 500);
      assertThat(millis).isLessThan(MOST_MILLIS);
    }
  }

  private static void oneAfterTheOther(RedisServer server, OutageRig first, TcpProxy second) {
    server.restart();
    first.awaitReturned();
    during(Duration.ofMillis(500));
    second.heal();
  }

  private static void through(List<OutageRig> rigs, Duration away, Runnable end) {
    rigs.forEach(OutageRig::awaitLost);
    during(away);
    end.run();
    rigs.forEach(OutageRig::awaitReturned);
    during(Duration.ofSeconds(2));
  }

  @Test
  void killed_underLoadWithSettlements_storedTokensAreRight() {
    try (RedisServer server = RedisServer.builder().data().start()) {
      List<OutageRig> rigs =
          open(
              List.of(server.uri(), server.uri()),
              config(SeedBudget.budget(600_000, LARGE).build()));
      OutageRig rig = rigs.get(0);
      // From here on every token shows, and can be refunded.
      rig.granted(LARGE / 2);
      Load load = new Load(rigs, true);
      try (load) {
        during(Duration.ofMillis(500));
        server.kill();
        rigs.forEach(OutageRig::awaitLost);
        rigs.forEach(OutageRig::awaitShare);
        during(AWAY);
        server.restart();
        rigs.forEach(OutageRig::awaitReturned);
        during(Duration.ofMillis(500));
      }
      try {
        long charged = rigs.stream().mapToLong(each -> each.granted.get()).sum();
        // The outbox is sent within a second.
        long used = LARGE / 2 + load.grants.tokens() - load.refunds.get();
        until("stored settlements are sent", () -> rig.consumed() <= used);
        during(Duration.ofMillis(1_200));
        long difference = rig.consumed() - used;
        System.out.printf(
            "state of budgets: granted %d, refunded %d, granted by shares %d, stored %d,"
                + " difference %d%n",
            load.grants.tokens(), load.refunds.get(), charged, rig.consumed(), difference);
        assertThat(charged).isPositive();
        // Stored settlements refund tokens after the return, and grants of the shares that are
        // settled after the return refund nothing: one token for each.
        assertThat(difference).isBetween(-100L, 100L);
      } finally {
        rigs.forEach(OutageRig::close);
      }
    }
  }
}
