package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.during;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.redis.RedisUnavailableException;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import dev.sluice.testkit.redis.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Redis answers after an outage, and refuses the report of one of two models. */
@Tag("any-jdk")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class RefusedReportTest {
  private static final ModelBudget BUDGET = SeedBudget.budget(60_000, 1_000).build();
  private static final BudgetConfig BOTH =
      BudgetConfig.builder().models(Map.of("sonnet", BUDGET, "other", BUDGET)).build();
  private static final TokenRequest OTHER =
      TokenRequest.of("other", 10).withPriorityClass(OutageRig.P1);

  private final RedisServer redis = RedisServer.builder().data().start();
  private final TcpProxy proxy = TcpProxy.to(redis);
  private final OutageRig rig = OutageRig.local(proxy.uri(), 1, BOTH);

  @AfterEach
  void close() {
    rig.close();
    proxy.close();
    redis.close();
  }

  private void cutOff() {
    proxy.refuse();
    proxy.cut();
    rig.awaitShare();
  }

  @Test
  void stateOfAnotherType_deniesOnlyItsModel() {
    cutOff();
    redis.command("SET", ModelKeys.of("token-governor:", "other").all()[0], "foreign");
    proxy.heal();
    rig.awaitReturned();
    rig.grantedSoon(10);
    assertThat(rig.ask(OTHER))
        .isInstanceOfSatisfying(
            TokenDecision.Denied.class,
            denied -> assertThat(denied.reason()).isEqualTo(TokenDecision.Reason.UNAVAILABLE));
    assertThatThrownBy(() -> get(rig.store.explain(OTHER)))
        .isInstanceOf(RedisUnavailableException.class);
  }

  /** Calls that wait for the return are not sent either. */
  @Test
  void refusedReport_deniesItsModel_untilItIsAccepted() {
    TokenRequest keyed = OTHER.withIdempotencyKey("k");
    cutOff();
    TokenDecision.Granted granted = rig.grantedSoon(keyed);
    // Only the report of an open grant needs this permission.
    redis.command("ACL", "SETUSER", "default", "-zrank");
    proxy.heal();
    // The steps of the return take a second or more.
    proxy.delay(Duration.ofMillis(100), Duration.ofMillis(100));
    List<CompletableFuture<TokenDecision>> asked = new ArrayList<>();
    while (!rig.isLast("returned")) {
      during(Duration.ofMillis(20));
      asked.add(rig.store.request(keyed));
    }
    proxy.delay(Duration.ZERO, Duration.ZERO);
    rig.grantedSoon(10);
    for (CompletableFuture<TokenDecision> each : asked) {
      if (get(each) instanceof TokenDecision.Granted same) {
        // By the share.
        assertThat(same.reservation()).isEqualTo(granted.reservation());
      }
    }
    assertThatThrownBy(() -> get(rig.store.explain(OTHER)))
        .isInstanceOf(RedisUnavailableException.class)
        .hasMessageContaining(
            "has not accepted the decisions of the last outage about model other");
    redis.command("ACL", "SETUSER", "default", "+zrank");
    TokenDecision.Granted again = rig.grantedSoon(keyed);
    assertThat(again.reservation()).isEqualTo(granted.reservation());
    assertThat(get(rig.store.settle(again.reservation(), 10))).isPresent();
    during(Duration.ofMillis(500));
    assertThat(get(rig.store.status()).models().get("other").running()).isZero();
  }
}
