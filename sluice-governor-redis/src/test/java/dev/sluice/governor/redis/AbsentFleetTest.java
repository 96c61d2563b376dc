package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.LoadThreads;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Outages that nodes leave one after the other: tokens and slots as callers see them. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class AbsentFleetTest {
  private static final int NODES = 3;
  private static final int SLOTS = 30;
  private static final int SHARE = SLOTS / NODES;

  private final RedisServer redis = RedisServer.builder().data().start();
  private final List<TcpProxy> proxies = new ArrayList<>();
  private final List<OutageRig> rigs = new ArrayList<>();

  @AfterEach
  void close() {
    rigs.forEach(OutageRig::close);
    proxies.forEach(TcpProxy::close);
    redis.close();
  }

  private void openFleet(BudgetConfig config) {
    for (int i = 0; i < NODES; i++) {
      proxies.add(TcpProxy.to(redis));
      rigs.add(OutageRig.local(proxies.get(i).uri(), NODES, config));
      rigs.get(i).available();
    }
  }

  private void loseRedis() {
    proxies.forEach(TcpProxy::blackHole);
    rigs.forEach(OutageRig::awaitShare);
  }

  private void comeBack(int node) {
    proxies.get(node).heal();
    rigs.get(node).awaitReturned();
  }

  // ---- tokens

  /**
   * The tokens of a grant have accrued again, and it is still open, when Redis is stopped; the
   * share saves a whole burst and grants it. The settlement must not refund the burst as well.
   */
  @Test
  void grantSettledAfterAnOutage_refundsNoTokensOfTheShare() {
    long burst = 2_000;
    long perSecond = 1_000;
    GrantLedger ledger = new GrantLedger();
    OutageRig rig =
        OutageRig.local(redis.uri(), 1, config(SeedBudget.budget(60 * perSecond, burst).build()));
    rigs.add(rig);
    TokenDecision.Granted open = rig.granted(burst);
    until("its tokens have accrued", () -> rig.available() == burst);
    redis.pause();
    rig.awaitShare();
    until("the share is saved up", () -> rig.available() == burst);
    long from = System.nanoTime();
    rig.granted(burst);
    ledger.granted(from, System.nanoTime(), burst);
    redis.resume();
    rig.awaitReturned();
    assertThat(get(rig.store.settle(open.reservation(), 0)).orElseThrow().refundedTokens())
        .isZero();
    from = System.nanoTime();
    rig.grantedSoon(burst / 2);
    ledger.granted(from, System.nanoTime(), burst / 2);
    assertThat(ledger.excess(burst, perSecond)).isLessThanOrEqualTo(0);
    assertThat(get(rig.store.status()).models().get("sonnet").audit().errorTokens()).isZero();
  }

  // ---- slots

  private static int grantAll(OutageRig rig) {
    int granted = 0;
    while (get(rig.store.tryAcquire(request(1))).orElse(null) instanceof TokenDecision.Granted) {
      granted++;
    }
    return granted;
  }

  @Test
  void nodesThatReturnOneAfterTheOther_neverHaveMoreSlotsThanThereAre() {
    openFleet(
        config(SeedBudget.budget(60_000_000, 1_000_000).maxConcurrentRequests(SLOTS).build()));
    loseRedis();
    for (OutageRig rig : rigs) {
      int[] granted = {0};
      until("its share is full", () -> (granted[0] += grantAll(rig)) == SHARE);
    }
    for (int node = 0; node < NODES; node++) {
      comeBack(node);
      for (OutageRig rig : rigs) {
        assertThat(grantAll(rig)).isZero();
      }
    }
    assertThat(rigs.get(0).running()).isEqualTo(SLOTS);
  }

  /** Callers that constantly take slots for a short time, and the number of slots in use. */
  private static final class Holders {
    private static final int MOST_OF_A_NODE = 2 * SLOTS;
    private volatile boolean resting;
    private int open;
    private int most;

    private record Slot(TokenDecision.Granted grant, long until) {}

    /** One round of the callers of a node. */
    private void round(OutageRig rig, Deque<Slot> slots, Random random) {
      while (!slots.isEmpty() && slots.peek().until - System.nanoTime() <= 0) {
        settle(rig, slots.remove());
      }
      if (!resting
          && slots.size() < MOST_OF_A_NODE
          && get(rig.store.tryAcquire(request(1))).orElse(null)
              instanceof TokenDecision.Granted grant) {
        count(1);
        slots.add(new Slot(grant, System.nanoTime() + 50_000_000 + random.nextInt(200_000_000)));
      }
    }

    /** Settles a grant, in an outage later. */
    private void settle(OutageRig rig, Slot each) {
      count(-1);
      rig.store.settle(each.grant.reservation(), 1).handle((settled, failure) -> true).join();
    }

    private synchronized void count(int more) {
      open += more;
      most = Math.max(most, open);
    }

    private synchronized int most() {
      return most;
    }

    /** Runs a fault while no slot is in use, so that Redis has no reservation. */
    private void restWhile(Runnable fault) {
      resting = true;
      until("no slot is in use", () -> open() == 0);
      during(Duration.ofMillis(100));
      fault.run();
      resting = false;
    }

    private synchronized int open() {
      return open;
    }

    /** Returns the most slots in use at a time since the last call. */
    private synchronized int takeMost() {
      int before = most;
      most = open;
      return before;
    }
  }

  /** Slots in use at the start of an outage are free before a share grants anything. */
  @Test
  void faultsUnderLoad_neverLetMoreThanTheConcurrencyRun() {
    openFleet(
        config(SeedBudget.budget(60_000_000, 1_000_000).maxConcurrentRequests(SLOTS).build()));
    Holders holders = new Holders();
    List<Deque<Holders.Slot>> slots = new ArrayList<>();
    try (LoadThreads threads = new LoadThreads()) {
      for (OutageRig rig : rigs) {
        Deque<Holders.Slot> own = new ArrayDeque<>();
        Random random = new Random(rigs.indexOf(rig));
        slots.add(own);
        threads.start(500_000, () -> holders.round(rig, own, random));
      }
      until("all slots are in use", () -> holders.most() >= SLOTS);
      holders.restWhile(() -> proxies.forEach(TcpProxy::blackHole));
      rigs.forEach(OutageRig::awaitLost);
      during(Duration.ofMillis(1_500));
      for (int node = 0; node < NODES; node++) {
        comeBack(node);
        during(Duration.ofMillis(700));
      }
      int oneByOne = holders.takeMost();
      // This time with slots in use.
      redis.pause();
      rigs.forEach(OutageRig::awaitLost);
      during(Duration.ofMillis(1_500));
      redis.resume();
      rigs.forEach(OutageRig::awaitReturned);
      during(Duration.ofMillis(500));
      int paused = holders.takeMost();
      holders.restWhile(proxies.get(0)::blackHole);
      rigs.get(0).awaitLost();
      during(Duration.ofSeconds(2));
      comeBack(0);
      until("all slots are in use again", () -> holders.most() >= SLOTS);
      int cutOff = holders.takeMost();
      System.out.printf(
          "slots of %d: back one by one %d, paused %d, one cut off %d%n",
          SLOTS, oneByOne, paused, cutOff);
      assertThat(List.of(oneByOne, paused, cutOff))
          .allSatisfy(most -> assertThat(most).isLessThanOrEqualTo(SLOTS));
    }
    for (int node = 0; node < NODES; node++) {
      while (!slots.get(node).isEmpty()) {
        holders.settle(rigs.get(node), slots.get(node).remove());
      }
    }
    assertThat(rigs).allSatisfy(rig -> assertThat(rig.granted).hasPositiveValue());
    until("no slot is in use", () -> rigs.get(0).running() == 0);
  }
}
