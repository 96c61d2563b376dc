package dev.sluice.governor.redis;

import static dev.sluice.governor.redis.RedisBudgetStoreTest.config;
import static dev.sluice.governor.redis.RedisBudgetStoreTest.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.BudgetStore;
import dev.sluice.governor.Governor;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenExplanation.Outcome;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Nodes with different configurations, as in a deployment. */
@Tag("any-jdk")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class MixedConfigurationsTest {
  private static final String MODEL = "sonnet";

  @AutoClose private static final ManualClockBudgets redis = new ManualClockBudgets();

  /** 10,000 tokens, in classes of this order, with these minimum shares. */
  private static ModelBudget budget(Map<String, Double> minimums, String... classes) {
    Map<String, Double> shares = new LinkedHashMap<>();
    List.of(classes).forEach(name -> shares.put(name, 1.0));
    return SeedBudget.budget(60, 10_000).priorityClasses(shares).minimumShares(minimums).build();
  }

  private static ModelBudget budget(String... classes) {
    return budget(Map.of(), classes);
  }

  private static TokenRequest request(long tokens, String priority) {
    return TokenRequest.of(MODEL, tokens).withPriorityClass(priority);
  }

  private static TokenDecision ask(BudgetStore store, TokenRequest request) {
    return get(store.request(request));
  }

  @Test
  void classInsertedByAnotherNode_delaysNoWaiter() {
    try (BudgetStore old = redis.open(config(budget("a", "b")), BudgetListener.NONE);
        BudgetStore recent = redis.join(old, config(budget("x", "b", "a")))) {
      for (String each : List.of("a", "b")) {
        assertThat(ask(old, request(1, each))).isInstanceOf(TokenDecision.Granted.class);
        assertThat(ask(old, request(1, each).withIdempotencyKey(each)))
            .isInstanceOf(TokenDecision.Granted.class);
        assertThat(get(old.explain(request(1, each))).outcome()).isEqualTo(Outcome.GRANTED);
      }
      ask(recent, request(9_000, "x"));
      // In the order of the configuration in force.
      TokenDecision.Queued last = (TokenDecision.Queued) ask(old, request(5_000, "a"));
      TokenDecision.Queued first = (TokenDecision.Queued) ask(old, request(5_000, "b"));
      assertThat(first.queuePosition()).isEqualTo(1);
      assertThat(get(old.poll(last.ticket())))
          .hasValueSatisfying(
              each -> assertThat(((TokenDecision.Queued) each).queuePosition()).isEqualTo(2));
    }
  }

  @Test
  void classRemovedByAnotherNode_isAnError_thatNamesTheClassesInForce() {
    try (BudgetStore old = redis.open(config(budget("a", "b")), BudgetListener.NONE);
        BudgetStore recent = redis.join(old, config(budget("b", "c")))) {
      assertThat(ask(recent, request(1, "c"))).isInstanceOf(TokenDecision.Granted.class);
      assertThatThrownBy(() -> ask(old, request(1, "a")))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("priority must be one of [b, c], as configured by another node, but was a");
      assertThatThrownBy(() -> get(old.explain(request(1, "a"))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("[b, c]");
      assertThatThrownBy(() -> ask(old, request(1, "c")))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("priority must be one of [a, b], but was c");
    }
  }

  @Test
  void refundOfAMinimumShare_isThatOfItsClass_inAnyOrder() {
    // Each class has a minimum share of 1,000; "a" takes all of its share, and refunds it.
    Map<String, Double> minimums = Map.of("a", 0.1, "b", 0.1);
    try (BudgetStore store = redis.open(config(budget(minimums, "a", "b")), BudgetListener.NONE)) {
      TokenDecision.Granted granted = (TokenDecision.Granted) ask(store, request(1_000, "a"));
      TokenDecision.Granted all = (TokenDecision.Granted) ask(store, request(9_000, "b"));
      get(store.reload(config(budget(minimums, "b", "a"))));
      get(store.settle(granted.reservation(), 0));
      // 1,000 are available. "b" is first, but its minimum share is spent: "a" is granted by its
      // own.
      TokenDecision.Queued first = (TokenDecision.Queued) ask(store, request(2_000, "b"));
      assertThat(ask(store, request(1_000, "a"))).isInstanceOf(TokenDecision.Granted.class);
      assertThat(get(store.poll(first.ticket()))).containsInstanceOf(TokenDecision.Queued.class);
      assertThat(get(store.settle(all.reservation(), 9_000))).isPresent();
    }
  }

  @Test
  void audit_usesTheLimitsInForce() {
    BudgetStore[] stores = new BudgetStore[1];
    BudgetStore.Factory opener = (config, listener) -> stores[0] = redis.open(config, listener);
    ModelBudget small = SeedBudget.budget(60, 100).build();
    ModelBudget large = SeedBudget.budget(600, 100_000).build();
    try (Governor old = Governor.builder(config(small)).store(opener).build()) {
      try (BudgetStore recent = redis.join(stores[0], config(large))) {
        assertThat(get(recent.status()).models()).containsKey(MODEL);
        // The tokens are still available, and more accrue.
        redis.advance(Duration.ofHours(3));
        assertThat(
                old.blocking().request(TokenRequest.of(MODEL, 50_000).withPriorityClass("P1_user")))
            .isInstanceOf(TokenDecision.Granted.class);
        GovernorStatus.Model status = old.blocking().status().models().get(MODEL);
        assertThat(status.capacity()).isEqualTo(100_000);
        assertThat(status.targetTpm()).isEqualTo(600);
        assertThat(status.audit().admittedTokens()).isEqualTo(50_000);
        assertThat(status.audit().limitTokens()).isEqualTo(100_600);
        assertThat(status.audit().errorTokens()).isZero();
      }
    }
  }
}
