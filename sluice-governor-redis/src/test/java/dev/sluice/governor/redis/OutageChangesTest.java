package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.OutageRig.request;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenDecision.Denied;
import dev.sluice.redis.OutageListener;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Changes of configuration and permissions in an outage. */
@Tag("any-jdk")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class OutageChangesTest {
  private static final ModelBudget SONNET =
      SeedBudget.budget(60_000, 2_000).maxConcurrentRequests(1).build();
  private static final ModelBudget OTHER = SeedBudget.budget(60, 100).build();
  private static final BudgetConfig BOTH =
      BudgetConfig.builder().models(Map.of("sonnet", SONNET, "other", OTHER)).build();
  private static final BudgetConfig WITHOUT =
      BudgetConfig.builder().models(Map.of("other", OTHER)).build();

  private final RedisServer redis = RedisServer.builder().data().start();

  @AfterEach
  void close() {
    redis.close();
  }

  @Test
  void removedModel_grantsNothing_isSettled_andItsTicketsAreDenied() {
    try (OutageRig rig = OutageRig.local(redis.uri(), 1, BOTH)) {
      TokenDecision.Granted before = rig.granted(1_500);
      TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(100);
      CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
      assertThat(get(rig.store.poll(queued.ticket()))).isPresent();
      redis.kill();
      rig.awaitShare();
      get(rig.store.reload(WITHOUT));
      // At once, without Redis.
      assertThat(((Denied) get(waiter).orElseThrow()).reason())
          .isEqualTo(TokenDecision.Reason.REMOVED);
      assertThat(get(rig.store.settle(before.reservation(), 100))).isPresent();
      redis.restart();
      rig.awaitReturned();
      get(rig.store.reload(BOTH));
      assertThat(rig.granted).hasValue(0);
      until("no slot is in use", () -> rig.running() == 0);
    }
  }

  @Test
  void modelRemovedBeforeTheOutage_grantsNothing() {
    try (OutageRig rig = OutageRig.local(redis.uri(), 1, BOTH)) {
      TokenDecision.Granted before = rig.granted(10);
      get(rig.store.reload(WITHOUT));
      redis.kill();
      rig.awaitLost();
      until(
          "the share",
          () ->
              rig.store
                  .waitingList("other", 0, 1)
                  .handle((said, failure) -> failure == null)
                  .join());
      assertThat(get(rig.store.settle(before.reservation(), 10))).isPresent();
      redis.restart();
      rig.awaitReturned();
      get(rig.store.reload(BOTH));
      until("no slot is in use", () -> rig.running() == 0);
    }
  }

  @Test
  void reloadThatLeavesNoShare_grantsNothing_andKeepsOpenReservations() {
    ModelBudget thirty = SeedBudget.budget(60_000, 3_000).maxConcurrentRequests(30).build();
    try (OutageRig rig =
        OutageRig.local(
            redis.uri(), 3, config(thirty.toBuilder().maxConcurrentRequests(3).build()))) {
      redis.kill();
      rig.awaitShare();
      TokenDecision.Granted first = rig.grantedSoon(10);
      TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(10);
      CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
      get(rig.store.reload(config(thirty.toBuilder().maxConcurrentRequests(2).build())));
      assertThat(rig.refused(10)).isEqualTo(TokenDecision.Reason.UNAVAILABLE);
      assertThat(get(rig.store.settle(first.reservation(), 10))).isPresent();
      Await.during(Duration.ofMillis(200));
      assertThat(waiter).isNotDone();
      // A share again, which starts with the waiting ticket.
      get(rig.store.reload(config(thirty)));
      TokenDecision.Granted second = (TokenDecision.Granted) get(waiter).orElseThrow();
      get(rig.store.reload(config(thirty.toBuilder().maxConcurrentRequests(2).build())));
      redis.restart();
      rig.awaitReturned();
      assertThat(rig.running()).isEqualTo(1);
      assertThat(get(rig.store.settle(second.reservation(), 10))).isPresent();
      assertThat(rig.running()).isZero();
      assertThat(rig.granted).hasValue(20);
    }
  }

  @Test
  void reload_appliesAtOnce_andToTheFleetOnReturn() {
    BudgetConfig small = config(SeedBudget.budget(60_000, 500).build());
    AtomicInteger losses = new AtomicInteger();
    AtomicInteger returns = new AtomicInteger();
    OutageListener listener =
        new OutageListener() {
          @Override
          public void outageStarted(String cause, double share) {
            losses.incrementAndGet();
          }

          @Override
          public void outageEnded(Duration away, long granted) {
            returns.incrementAndGet();
          }
        };
    try (Governor governor =
        Governor.builder(config(SONNET))
            .store(
                RedisBudgets.builder()
                    .url(redis.uri())
                    .timeout(OutageRig.LONG_TIMEOUT)
                    .outageListener(listener)
                    .build())
            .build()) {
      assertThat(governor.blocking().request(request(1))).isInstanceOf(TokenDecision.Granted.class);
      redis.kill();
      governor.blocking().reload(small);
      assertThat(governor.blocking().status().models().get("sonnet").capacity()).isEqualTo(500);
      assertThat(governor.blocking().request(request(501)))
          .isInstanceOf(TokenDecision.Impossible.class);
      until("the loss", () -> losses.get() == 1);
      redis.restart();
      until("the return", () -> returns.get() == 1);
      assertThat(governor.blocking().request(request(501)))
          .isInstanceOf(TokenDecision.Impossible.class);
    }
  }

  @Test
  void pauseBeforeTheOutage_appliesToTheShare() {
    try (OutageRig rig = OutageRig.local(redis.uri(), 1, config(SONNET))) {
      ProviderAdjustment paused = new ProviderAdjustment(1, null, Duration.ofMinutes(1));
      get(rig.store.adjust("sonnet", paused));
      redis.kill();
      rig.awaitLost();
      // 1,000 tokens a second accrue for the share.
      Await.during(Duration.ofMillis(100));
      assertThat(rig.ask(1)).isInstanceOf(Denied.class);
    }
  }

  @Test
  void settledBeforeItsChargeIsConfirmed_holdsNoSlot() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        OutageRig rig = OutageRig.local(proxy.uri(), 1, config(SONNET))) {
      proxy.refuse();
      proxy.cut();
      rig.awaitLost();
      TokenDecision.Granted granted = rig.grantedSoon(10);
      proxy.heal();
      proxy.delay(Duration.ofMillis(60), Duration.ZERO);
      rig.awaitReturned();
      // The charge is under way, and gets lost.
      proxy.refuse();
      proxy.cut();
      rig.awaitLost();
      assertThat(get(rig.store.settle(granted.reservation(), 5))).isPresent();
      proxy.heal();
      proxy.delay(Duration.ZERO, Duration.ZERO);
      rig.awaitReturned();
      until("no slot is in use", () -> rig.running() == 0);
    }
  }

  @Test
  void settlementWithoutPermission_isSentOncePermitted() {
    AtomicInteger refusals = new AtomicInteger();
    OutageListener listener =
        new OutageListener() {
          @Override
          public void redisError(String error) {
            refusals.incrementAndGet();
          }
        };
    try (var store =
        RedisBudgets.builder()
            .url(redis.uri())
            .timeout(OutageRig.LONG_TIMEOUT)
            .outageListener(listener)
            .build()
            .open(config(SONNET), BudgetListener.NONE)) {
      TokenDecision.Granted granted = (TokenDecision.Granted) get(store.request(request(100)));
      redis.command("ACL", "SETUSER", "default", "-hset");
      assertThat(get(store.settle(granted.reservation(), 10))).isPresent();
      // It was sent again meanwhile without success, which is reported once a second.
      until("refusals", () -> refusals.get() >= 3);
      redis.command("ACL", "SETUSER", "default", "+hset");
      until("it is settled", () -> get(store.status()).models().get("sonnet").running() == 0);
    }
  }

  @Test
  void cancellationInAnOutage_returnsTheGrantOfAnotherNode() {
    BudgetConfig config = config(SeedBudget.budget(60_000, 2_000).maxConcurrentRequests(2).build());
    try (TcpProxy proxy = TcpProxy.to(redis);
        OutageRig other = OutageRig.local(redis.uri(), 2, config);
        OutageRig rig = OutageRig.local(proxy.uri(), 2, config)) {
      List<TokenDecision.Granted> running = List.of(rig.grantedSoon(10), rig.grantedSoon(10));
      String ticket = ((TokenDecision.Queued) rig.ask(10)).ticket();
      CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(ticket);
      assertThat(get(rig.store.poll(ticket))).isPresent();
      proxy.refuse();
      proxy.cut();
      rig.awaitShare();
      running.forEach(each -> get(other.store.settle(each.reservation(), 10)));
      until(
          "a grant",
          () -> get(other.store.poll(ticket)).orElseThrow() instanceof TokenDecision.Granted);
      assertThat(get(rig.store.cancel(ticket))).isTrue();
      assertThat(((Denied) get(waiter).orElseThrow()).reason())
          .isEqualTo(TokenDecision.Reason.CANCELLED);
      proxy.heal();
      rig.awaitReturned();
      until("nothing is held", () -> other.running() == 0);
    }
  }

  /** The outbox drops the oldest of too many entries. */
  @Test
  void abandonedWaits_displaceNoSettlement() {
    try (TcpProxy proxy = TcpProxy.to(redis);
        OutageRig rig = OutageRig.local(proxy.uri(), 1, config(SONNET))) {
      TokenDecision.Granted granted = rig.granted(10);
      proxy.refuse();
      proxy.cut();
      rig.awaitShare();
      assertThat(get(rig.store.settle(granted.reservation(), 10))).isPresent();
      String tickets = "t" + granted.reservation().substring(1, 12);
      for (int i = 0; i <= 100_000; i++) {
        rig.store.await(tickets + "%032x".formatted(i)).cancel(false);
      }
      proxy.heal();
      rig.awaitReturned();
      until("nothing is held", () -> rig.running() == 0);
    }
  }
}
