package dev.sluice.governor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.Limit;
import dev.sluice.governor.spi.ModelLimits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The builder of budgets, and the values it refuses. */
class ModelBudgetTest {
  private static final Limit TOKENS = Limit.perMinute(60_000, 1_000);

  @Test
  void budgetWithoutClasses_hasTheClassDefault() {
    ModelBudget budget = ModelBudget.builder(TOKENS).build();
    assertThat(budget.priorityClasses()).isEqualTo(Map.of("default", 1.0));
    assertThat(budget.leastUrgentClass()).isEqualTo("default");
    assertThat(budget.requests()).isEmpty();
    assertThat(budget.tenants()).isEmpty();
  }

  @Test
  void requestWithoutClass_isOfTheClassDefault() {
    BudgetConfig config = BudgetConfig.parse("{\"models\":{\"m\":{\"target_tpm\":60}}}");
    try (Governor governor = Governor.create(config)) {
      TokenDecision decision = governor.blocking().request(TokenRequest.of("m", 1));
      assertThat(decision).isInstanceOf(TokenDecision.Granted.class);
      assertThat(decision.priorityClass()).isEqualTo("default");
      assertThat(governor.blocking().status().models().get("m").queueLengths())
          .containsOnlyKeys("default");
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  governor.blocking().request(TokenRequest.of("m", 1).withPriorityClass("P1_user")))
          .withMessageContaining("default");
    }
  }

  @Test
  void limitWithAnotherPeriod_isTheSameRateAMinute() {
    ModelBudget seconds = ModelBudget.builder(Limit.perSecond(1_000, 1_000)).build();
    ModelBudget halfMinutes =
        ModelBudget.builder(Limit.per(30_000, Duration.ofSeconds(30), 1_000)).build();
    assertThat(seconds).isEqualTo(ModelBudget.builder(TOKENS).build()).isEqualTo(halfMinutes);
    assertThat(seconds.tokens()).isEqualTo(TOKENS);
  }

  static List<Limit> refusedTokens() {
    return List.of(
        Limit.denyAll(),
        Limit.manual(1),
        Limit.strict(1, Duration.ofMinutes(1)),
        Limit.ofRate(1, 1),
        Limit.per(1, Duration.ofMinutes(7), 1),
        Limit.perMinute(TokenRequest.MAX_TOKENS + 1, 1),
        Limit.perMinute(1, TokenRequest.MAX_TOKENS + 1),
        Limit.per(Long.MAX_VALUE, Duration.ofNanos(1), 1));
  }

  @ParameterizedTest
  @MethodSource("refusedTokens")
  void limitThatIsNoWholeRateAMinute_isRefused(Limit limit) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ModelBudget.builder(limit))
        .withMessageContaining("tokens");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ModelBudget.TenantBudget(limit, 1))
        .withMessageContaining("tokens of a tenant");
  }

  static List<List<Limit>> refusedRequests() {
    return List.of(
        List.of(Limit.per(1, Duration.ofHours(1))),
        List.of(Limit.perSecond(1), Limit.perSecond(2)),
        List.of(Limit.denyAll()),
        List.of(Limit.perMinute(TokenRequest.MAX_TOKENS + 1)));
  }

  @ParameterizedTest
  @MethodSource("refusedRequests")
  void requestsOfAnotherPeriodOrTwice_areRefused(List<Limit> limits) {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> ModelBudget.builder(TOKENS).requests(limits.toArray(Limit[]::new)).build())
        .withMessageContaining("requests");
  }

  @ParameterizedTest
  @CsvSource({"0", "-0.1", "1.1", "NaN"})
  void shareOutOfRange_isRefused(double share) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ModelBudget.builder(TOKENS).priorityClass("a", share).build())
        .withMessageContaining("the share of class a must be above 0 and at most 1");
  }

  @Test
  void toBuilder_copiesEveryValue() {
    ModelBudget budget =
        ModelBudget.builder(TOKENS)
            .requests(Limit.perSecond(1), Limit.perMinute(30))
            .maxConcurrentRequests(2)
            .allocation(Allocation.OFF)
            .priorityClass("urgent", 1)
            .priorityClass("rest", 0.5)
            .minimumShare("rest", 0.1)
            .tenant("acme", Limit.perMinute(10), 2)
            .estimateOutput(true)
            .maxContextTokens(3)
            .maxOutputTokens(4)
            .build();
    assertThat(budget.toBuilder().build()).isEqualTo(budget).hasSameHashCodeAs(budget);
    assertThat(budget.toBuilder().maxOutputTokens(5).build()).isNotEqualTo(budget);
  }

  /** Journals of earlier versions hold this text; with another one they begin with less. */
  @Test
  void fingerprint_isThatOfEarlierVersions() {
    ModelBudget budget =
        ModelBudget.builder(Limit.perMinute(240_000, 300_000))
            .requests(Limit.perSecond(50), Limit.perMinute(600))
            .maxConcurrentRequests(3)
            .priorityClass("urgent", 1)
            .priorityClass("rest", 0.5)
            .minimumShare("rest", 0.1)
            .tenant("acme", Limit.perMinute(60_000, 100_000), 1)
            .tenant(ModelBudget.OTHER_TENANTS, Limit.perMinute(60, 10), 1)
            .build();
    assertThat(ModelLimits.of(budget).fingerprint())
        .isEqualTo("04e6761b8df586af5effa9e105cfd94cc356364150d17bdad8dbaf26bfa27a4a");
  }
}
