package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.BudgetLoad;
import dev.sluice.testkit.redis.RedisServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * {@link FaultRunsTest} finds a slot that is not freed. Its other findings are in {@code
 * BudgetRecordTest}.
 */
@Tag("any-jdk")
final class FaultRunsCheckTest {
  @Test
  void leakedSlot_isFound() {
    try (RedisServer redis = RedisServer.start();
        BudgetStore store = BudgetProcess.open(redis.uri(), BudgetListener.NONE)) {
      FaultRunsTest.assertQuiet(status(store));
      TokenRequest request = TokenRequest.of(BudgetLoad.PLAIN, 1).withPriorityClass("P1_user");
      TokenDecision.Granted granted = (TokenDecision.Granted) store.request(request).join();
      assertThatThrownBy(() -> FaultRunsTest.assertQuiet(status(store)))
          .isInstanceOf(AssertionError.class);
      assertThat(store.settle(granted.reservation(), 1).join()).isPresent();
      FaultRunsTest.assertQuiet(status(store));
    }
  }

  private static GovernorStatus.Model status(BudgetStore store) {
    return store.status().join().models().get(BudgetLoad.PLAIN);
  }
}
