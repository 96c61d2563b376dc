package dev.sluice.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.Allocation;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.TokenDecision;
import dev.sluice.testkit.load.SeedBudget;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The scenarios, sample answers and formulas of the text that the governor was made from, with its
 * figures, each in the mode in which it holds. Extend it and say how a store of budgets is made.
 *
 * @since 0.1
 */
public abstract class SeedScenarioContract extends BudgetSuite {
  // ---- scenarios

  /**
   * Scenario 1, any mode. The text has the second alert a second later and forgets what accrued
   * meanwhile: its figures are those of two alerts at once.
   */
  @Test
  void scenario1_burstOfEmergencies() {
    for (Allocation mode : Allocation.values()) {
      BudgetHarness atOnce = open(mode);
      assertThat(atOnce.granted(5_000, P0).remaining()).isEqualTo(295_000);
      assertThat(atOnce.granted(5_000, P0).remaining()).isEqualTo(290_000);
      BudgetHarness later = open(mode);
      assertThat(later.granted(5_000, P0).remaining()).isEqualTo(295_000);
      advance(SECOND);
      assertThat(later.available()).isEqualTo(299_000);
      assertThat(later.granted(5_000, P0).remaining()).isEqualTo(294_000);
    }
  }

  /** Scenario 2, mode off: in other modes the share of P1 is less than the request. */
  @Test
  void scenario2_exhaustion() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(180_000, P0);
    assertThat(rig.available()).isEqualTo(120_000);
    for (int i = 0; i < 40; i++) {
      rig.granted(3_000, P1);
    }
    List<TokenDecision.Queued> users = new ArrayList<>();
    for (int i = 1; i <= 10; i++) {
      TokenDecision.Queued queued = rig.queued(3_000, P1);
      assertThat(queued.queuePosition()).isEqualTo(i);
      assertThat(queued.retryAfter()).hasValue(Duration.ofMillis(750));
      assertThat(queued.eta()).hasValue(Duration.ofMillis(750L * i));
      assertThat(queued.binding()).isEqualTo(BudgetDimension.TOKENS);
      users.add(queued);
    }
    advanceMillis(7_000);
    assertThat(users.subList(0, 9)).allMatch(rig::isGranted);
    assertThat(rig.available()).isEqualTo(28_000 - 9 * 3_000);
    advance(Duration.ofMillis(500).minus(TICK));
    assertThat(rig.isWaiting(users.get(9))).isTrue();
    advance(TICK);
    assertThat(rig.isGranted(users.get(9))).isTrue();
    advanceMillis(500);
    assertThat(rig.available()).isEqualTo(2_000);
  }

  /** Scenario 3 in mode ceiling: tokens that P2 may not use are available to P0 at once. */
  @Test
  void scenario3_emergencyBeforeBatch_ceiling() {
    BudgetHarness rig = open(Allocation.CEILING);
    rig.granted(200_000, P1);
    TokenDecision.Queued batch = rig.queued(100_000, P2);
    assertThat(batch.binding()).isEqualTo(BudgetDimension.PRIORITY_CLASS);
    advance(SECOND);
    assertThat(rig.granted(5_000, P0).remaining()).isEqualTo(99_000);
    assertThat(rig.isWaiting(batch)).isTrue();
  }

  /** Scenario 3 in mode off without tokens left: P0 is queued before P2, though it came later. */
  @Test
  void scenario3_emergencyBeforeBatch_off() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(300_000, P1);
    TokenDecision.Queued batch = rig.queued(100_000, P2);
    assertThat(batch.queuePosition()).isEqualTo(1);
    advance(SECOND);
    TokenDecision.Queued emergency = rig.queued(5_000, P0);
    assertThat(emergency.queuePosition()).isEqualTo(1);
    assertThat(emergency.retryAfter()).hasValue(Duration.ofMillis(250));
    assertThat(emergency.eta()).hasValue(Duration.ofMillis(250));
    assertThat(queued(rig.poll(batch).orElseThrow()).queuePosition()).isEqualTo(2);
    advanceMillis(250);
    granted(rig.poll(emergency).orElseThrow());
    // 105,000 tokens at 4,000 a second.
    advance(Duration.ofSeconds(25).minus(TICK));
    assertThat(rig.isWaiting(batch)).isTrue();
    advance(TICK);
    granted(rig.poll(batch).orElseThrow());
  }

  // ---- answers

  /** Mode off: 3,000 of P1 are 3,000. */
  @Test
  void grantSample() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(60_000, P1);
    TokenDecision.Granted granted = rig.granted(3_000, P1);
    assertThat(granted.tokens()).isEqualTo(3_000);
    assertThat(granted.requestedTokens()).isEqualTo(3_000);
    assertThat(granted.remaining()).isEqualTo(237_000);
    assertThat(granted.model()).isEqualTo(MODEL);
    assertThat(granted.priorityClass()).isEqualTo(P1);
  }

  /** Mode off, 240,000 a minute: the text shows it for a model with another rate. */
  @Test
  void rejectionSample() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(298_000, P0);
    for (int i = 0; i < 4; i++) {
      rig.queued(10_000, P2);
    }
    TokenDecision.Queued fifth = rig.queued(10_000, P2);
    assertThat(fifth.tokens()).isEqualTo(10_000);
    assertThat(fifth.remaining()).isEqualTo(2_000);
    assertThat(fifth.retryAfter()).hasValue(Duration.ofSeconds(2));
    assertThat(fifth.queuePosition()).isEqualTo(5);
    assertThat(fifth.model()).isEqualTo(MODEL);
    assertThat(fifth.priorityClass()).isEqualTo(P2);
    // The formula of the source document leaves this out: 50,000 are requested before its turn.
    assertThat(fifth.eta()).hasValue(Duration.ofSeconds(12));
  }

  /** The rejection sample's model has 200,000 a minute: 8,000 of these take longer. */
  @Test
  void rejectionSample_ofItsOwnModel() {
    BudgetHarness rig = open(SeedBudget.budget(200_000, 250_000).build());
    rig.granted(248_000, P0);
    assertThat(rig.queued(10_000, P2).retryAfter()).hasValue(Duration.ofMillis(2_400));
  }

  /** The three examples of the classes, mode scale. */
  @Test
  void classExamples_scale() {
    BudgetHarness rig = open(Allocation.SCALE);
    assertThat(rig.granted(5_000, P0).tokens()).isEqualTo(5_000);
    assertThat(rig.granted(3_000, P1).tokens()).isEqualTo(2_100);
    TokenDecision.Granted batch = rig.granted(10_000, P2);
    assertThat(batch.tokens()).isEqualTo(4_000);
    assertThat(batch.requestedTokens()).isEqualTo(10_000);
    assertThat(batch.remaining()).isEqualTo(300_000 - 5_000 - 2_100 - 4_000);
  }

  /** 100, 70 and 40 percent of the capacity, mode ceiling. */
  @Test
  void classShares_ceiling() {
    for (Map.Entry<String, Long> most :
        Map.of(P0, 300_000L, P1, 210_000L, P2, 120_000L).entrySet()) {
      BudgetHarness rig = open(Allocation.CEILING);
      impossible(rig.ask(most.getValue() + 1, most.getKey()));
      rig.granted(most.getValue(), most.getKey());
      rig.queued(1, most.getKey());
    }
  }

  /** "Medical emergencies always prioritized", mode ceiling: under any load of P1 and P2. */
  @Test
  void headroomOfP0_remainsUnderAnyLoadOfLowerClasses() {
    BudgetHarness rig = open(Allocation.CEILING);
    for (int i = 0; i < 1_000; i++) {
      rig.ask(1_000, i % 2 == 0 ? P1 : P2);
    }
    for (int second = 1; second < 60; second++) {
      advance(SECOND);
      assertThat(rig.available()).isGreaterThanOrEqualTo(90_000);
      rig.granted(3_000, P0);
    }
    assertThat(rig.line().get(P1)).isPositive();
    assertThat(rig.granted(80_000, P0).tokens()).isEqualTo(80_000);
  }

  // ---- formulas

  /** 4,000 a second, in a minute from 60,000 to 300,000 and not beyond. */
  @Test
  void refillExample() {
    BudgetHarness rig = open(Allocation.OFF);
    assertThat(rig.status().refillRate()).isEqualTo(4_000);
    rig.granted(240_000, P0);
    assertThat(rig.available()).isEqualTo(60_000);
    advance(MINUTE.minus(TICK));
    assertThat(rig.available()).isEqualTo(299_999);
    advance(TICK);
    assertThat(rig.available()).isEqualTo(300_000);
    advance(MINUTE);
    assertThat(rig.available()).isEqualTo(300_000);
  }

  /** Needed 10,000, there 2,000, at 4,000 a second: 2,000 ms, and then it is granted. */
  @Test
  void waitFormula() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(298_000, P0);
    TokenDecision.Queued queued = rig.queued(10_000, P2);
    assertThat(queued.retryAfter()).hasValue(Duration.ofSeconds(2));
    advance(Duration.ofMillis(queued.retryAfter().orElseThrow().toMillis()).minus(TICK));
    assertThat(rig.isWaiting(queued)).isTrue();
    advance(TICK);
    granted(rig.poll(queued).orElseThrow());
  }

  // ---- the manager

  @Test
  void manager_hasASeparateBucketForEachModel() {
    BudgetHarness rig = open(SeedBudget.read());
    assertThat(BudgetHarness.get(rig.store.status()).models().keySet())
        .containsExactly(MODEL, "OX7A3F8D", "GE6D8A4F", "deepseek-r1");
    rig.granted(5_000, P1);
    assertThat(rig.available()).isEqualTo(295_000);
    assertThat(rig.status("OX7A3F8D").available()).isEqualTo(250_000);
    assertThat(rig.status("GE6D8A4F").available()).isEqualTo(400_000);
    assertThat(rig.status("deepseek-r1").available()).isEqualTo(220_000);
  }

  @Test
  void globalStatusSample() {
    ModelBudget second = SeedBudget.budget(200_000, 250_000).build();
    BudgetHarness rig =
        open(config(models(MODEL, sonnet(Allocation.OFF), "OX7A3F8D", second), PATIENT));
    rig.granted(63_000, P0);
    rig.granted(request(52_000, P0).withModel("OX7A3F8D"));
    for (int i = 0; i < 15; i++) {
      rig.queued(290_000, i < 3 ? P1 : P2);
    }
    GovernorStatus.Model sonnet = rig.status();
    assertThat(sonnet.capacity()).isEqualTo(300_000);
    assertThat(sonnet.available()).isEqualTo(237_000);
    assertThat(sonnet.utilizationPct()).isEqualTo("21.00");
    assertThat(sonnet.queueLengths()).isEqualTo(Map.of(P0, 0, P1, 3, P2, 12));
    assertThat(sonnet.queueLengths().keySet()).containsExactly(P0, P1, P2);
    GovernorStatus.Model other = rig.status("OX7A3F8D");
    assertThat(other.capacity()).isEqualTo(250_000);
    assertThat(other.available()).isEqualTo(198_000);
    assertThat(other.utilizationPct()).isEqualTo("20.80");
  }

  /** Each metric of the text, after scenario 2. */
  @Test
  void metrics() {
    BudgetHarness rig = open(Allocation.OFF);
    rig.granted(180_000, P0);
    for (int i = 0; i < 50; i++) {
      rig.ask(3_000, P1);
    }
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 10, P2, 0));
    advanceMillis(8_000);
    assertThat(rig.line()).isEqualTo(Map.of(P0, 0, P1, 0, P2, 0));
    GovernorStatus.Counts counts = rig.status().counts();
    assertThat(counts.totalRequests()).isEqualTo(51);
    assertThat(counts.acceptedRequests()).isEqualTo(41);
    assertThat(counts.rejectedRequests()).isEqualTo(10);
    assertThat(counts.tokensConsumed()).isEqualTo(330_000);
    assertThat(counts.refillCount()).isPositive();
  }
}
