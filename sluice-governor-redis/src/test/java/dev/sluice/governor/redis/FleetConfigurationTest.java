package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.redis.internal.store.ModelKeys;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Configurations that several nodes set for one model, and how they are stored. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class FleetConfigurationTest {
  private static final ModelBudget BUDGET = SeedBudget.budget(60, 1_000).build();

  private final RedisServer redis = RedisServer.builder().clockOffset(Duration.ZERO).start();

  @AfterEach
  void close() {
    redis.close();
  }

  private BudgetStore open(BudgetConfig config) {
    return RedisBudgets.builder()
        .url(redis.uri())
        .timeout(Duration.ofSeconds(20))
        .build()
        .open(config, BudgetListener.NONE);
  }

  private static void slow(BudgetStore store, double factor) {
    get(store.adjust("sonnet", new ProviderAdjustment(factor, null, Duration.ZERO)));
  }

  private static long capacity(BudgetStore store) {
    return get(store.explain(TokenRequest.of("sonnet", 1).withPriorityClass("P1_user")))
        .dimensions()
        .stream()
        .filter(part -> part.dimension() == BudgetDimension.TOKENS)
        .mapToLong(TokenExplanation.DimensionStatus::capacity)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void slowestNode_setsTheFactor_untilItSendsAnother() {
    try (BudgetStore one = open(config(BUDGET));
        BudgetStore other = open(config(BUDGET))) {
      slow(one, 0.5);
      slow(other, 1);
      assertThat(capacity(other)).isEqualTo(500);
      slow(other, 0.25);
      slow(one, 0.75);
      assertThat(capacity(one)).isEqualTo(250);
      slow(other, 1);
      assertThat(capacity(one)).isEqualTo(750);
      slow(one, 1);
      assertThat(capacity(other)).isEqualTo(1_000);
    }
  }

  @Test
  void factorOfASilentNode_expires_whenAnotherNodeSendsOne() {
    try (BudgetStore other = open(config(BUDGET))) {
      try (BudgetStore one = open(config(BUDGET))) {
        slow(one, 0.5);
      }
      redis.clockOffset(Duration.ofMinutes(9));
      slow(other, 0.9);
      assertThat(capacity(other)).isEqualTo(500);
      redis.clockOffset(Duration.ofMinutes(11));
      assertThat(capacity(other)).isEqualTo(500);
      slow(other, 0.9);
      assertThat(capacity(other)).isEqualTo(900);
    }
  }

  @Test
  void namesOfTenants_areNotReadByEveryCall() {
    String stateKey = ModelKeys.of("token-governor:", "sonnet").all()[0];
    Map<String, ModelBudget.TenantBudget> tenants = new HashMap<>();
    for (int i = 0; i < 1_000; i++) {
      tenants.put("tenant-" + i, new ModelBudget.TenantBudget(Limit.perMinute(60, 10), 1));
    }
    try (BudgetStore store = open(config(BUDGET.toBuilder().tenants(tenants).build()))) {
      assertThat((Long) redis.command("HSTRLEN", stateKey, "c")).isLessThan(1_000);
      assertThat(redis.command("HEXISTS", stateKey, "btenant-7")).isEqualTo(1L);
      tenants.remove("tenant-7");
      get(store.reload(config(BUDGET.toBuilder().tenants(tenants).build())));
      assertThat(redis.command("HEXISTS", stateKey, "btenant-7")).isEqualTo(0L);
      assertThat(redis.command("HEXISTS", stateKey, "btenant-8")).isEqualTo(1L);
      get(store.reload(config(BUDGET)));
      assertThat(redis.command("HEXISTS", stateKey, "btenant-8")).isEqualTo(0L);
    }
  }
}
