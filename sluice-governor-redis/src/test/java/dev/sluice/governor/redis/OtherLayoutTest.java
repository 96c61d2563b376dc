package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static dev.sluice.testkit.Await.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.redis.OutageMode;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A newer version was the first to start in a Redis that had lost its data. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class OtherLayoutTest {
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
      redis.command("SET", "token-governor:{fleet}:schema", "99");
      redis.command("DEL", "token-governor:2:{fleet}:members");
      until("the refusal", () -> isRefused(store));
      for (int i = 0; i < 5; i++) {
        Await.during(Duration.ofMillis(500));
        assertThatThrownBy(() -> get(store.request(REQUEST)))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("SCHEMA 99 is stored in Redis");
      }
    }
  }

  private static boolean isRefused(BudgetStore store) {
    return store.request(REQUEST).handle((decision, failure) -> isOtherLayout(failure)).join();
  }

  private static boolean isOtherLayout(@Nullable Throwable failure) {
    return failure != null && String.valueOf(failure.getMessage()).contains("SCHEMA 99");
  }
}
