package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.redis.OutageMode;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A newer version was the first to start in a Redis that had lost its data. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class OtherLayoutTest {
  private static final String SCHEMA = "token-governor:{fleet}:schema";
  private static final BudgetConfig CONFIG =
      BudgetConfig.builder()
          .models(Map.of("sonnet", SeedBudget.budget(60_000, 1_000).build()))
          .build();
  private static final TokenRequest REQUEST =
      TokenRequest.of("sonnet", 1).withPriorityClass(OutageRig.P1);

  @ParameterizedTest
  @EnumSource(OutageMode.class)
  void otherLayout_afterTheStart_endsDecisions(OutageMode mode) {
    try (RedisServer redis = RedisServer.start();
        BudgetStore store =
            RedisBudgets.builder()
                .url(redis.uri())
                .outageMode(mode)
                .build()
                .open(CONFIG, BudgetListener.NONE)) {
      assertThat(get(store.request(REQUEST))).isInstanceOf(TokenDecision.Granted.class);
      writeOtherLayout(redis);
      until("the refusal", () -> isRefused(store));
      for (int i = 0; i < 5; i++) {
        Await.during(Duration.ofMillis(500));
        assertThatThrownBy(() -> get(store.request(REQUEST)))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("SCHEMA 99 is stored in Redis");
      }
    }
  }

  private static void writeOtherLayout(RedisServer redis) {
    redis.command("SET", SCHEMA, "99");
    redis.command("DEL", "token-governor:2:{fleet}:members");
  }

  @Test
  void settlement_isSentWhenTheLayoutIsRestored() {
    try (RedisServer redis = RedisServer.start();
        OutageRig rig = OutageRig.withLongTimeout(redis.uri(), 1, CONFIG)) {
      String layout = String.valueOf(redis.command("GET", SCHEMA));
      TokenDecision.Granted settled = rig.granted(1);
      TokenDecision.Granted extended = rig.granted(1);
      writeOtherLayout(redis);
      until("the refusal", () -> isRefused(rig.store));
      assertThat(get(rig.store.settle(settled.reservation(), 1))).isPresent();
      assertThat(get(rig.store.extend(extended.reservation()))).isTrue();
      redis.command("SET", SCHEMA, layout);
      until("only one is open", () -> isRunning(rig.store, 1));
      assertThat(get(rig.store.settle(extended.reservation(), 1))).isPresent();
    }
  }

  /** The share could grant the ticket meanwhile. */
  @Test
  void otherLayout_inAnOutage_endsTheDecisionsOfTheShare() {
    try (RedisServer redis = RedisServer.start();
        TcpProxy proxy = TcpProxy.to(redis);
        OutageRig rig = OutageRig.local(proxy.uri(), 1, CONFIG)) {
      String layout = String.valueOf(redis.command("GET", SCHEMA));
      proxy.refuse();
      proxy.cut();
      rig.awaitShare();
      rig.grantedSoon(500);
      TokenDecision.Queued queued = (TokenDecision.Queued) rig.ask(1_000);
      CompletableFuture<Optional<TokenDecision>> waiter = rig.store.await(queued.ticket());
      redis.command("SET", SCHEMA, "99");
      proxy.heal();
      until("the refusal", () -> isRefused(rig.store));
      assertThat(waiter).isNotDone();
      // At 1,000 a second the share would have it in a second.
      Await.during(Duration.ofSeconds(3));
      assertThat(waiter).isNotDone();
      redis.command("SET", SCHEMA, layout);
      TokenDecision.Granted granted = (TokenDecision.Granted) get(waiter).orElseThrow();
      assertThat(get(rig.store.settle(granted.reservation(), 1_000))).isPresent();
    }
  }

  private static boolean isRunning(BudgetStore store, int count) {
    return store
        .status()
        .handle((status, failure) -> failure == null && running(status) == count)
        .join();
  }

  private static int running(GovernorStatus status) {
    return status.models().get("sonnet").running();
  }

  private static boolean isRefused(BudgetStore store) {
    return store.explain(REQUEST).handle((explained, failure) -> isOtherLayout(failure)).join();
  }

  private static boolean isOtherLayout(@Nullable Throwable failure) {
    return failure != null && String.valueOf(failure.getMessage()).contains("SCHEMA 99");
  }
}
