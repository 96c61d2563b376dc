package dev.sluice.governor;

import static dev.sluice.governor.Desk.MINUTE;
import static dev.sluice.governor.Desk.MS;
import static dev.sluice.governor.Desk.SECOND;
import static dev.sluice.governor.Rig.MODEL;
import static dev.sluice.governor.Rig.P0;
import static dev.sluice.governor.Rig.P1;
import static dev.sluice.governor.Rig.P2;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * The scenarios, sample answers and formulas of the text that the governor was made from, with its
 * figures, each in the mode in which it holds.
 */
class SeedScenariosTest {
  /** Becomes known by when it is granted, in order. */
  private static CompletableFuture<Optional<Outcome>> await(
      Rig rig, Outcome.Queued queued, String name, List<String> order) {
    return rig.governor
        .await(queued.ticket())
        .whenComplete(
            (outcome, failure) -> {
              Rig.granted(outcome.orElseThrow());
              order.add(name);
            });
  }

  private static long inLine(Rig rig) {
    return rig.status().queueLengths().values().stream().mapToInt(Integer::intValue).sum();
  }

  // ---- scenarios

  /**
   * Scenario 1, any mode. The text has the second alert a second later and forgets what accrued
   * meanwhile: its figures are those of two alerts at once.
   */
  @Test
  void scenario1_burstOfEmergencies() {
    for (Allocation mode : Allocation.values()) {
      try (Rig rig = new Rig(mode)) {
        assertThat(rig.granted(5_000, P0).remaining()).isEqualTo(295_000);
        assertThat(rig.granted(5_000, P0).remaining()).isEqualTo(290_000);
      }
      try (Rig rig = new Rig(mode)) {
        assertThat(rig.granted(5_000, P0).remaining()).isEqualTo(295_000);
        rig.timer.advance(SECOND);
        assertThat(rig.available()).isEqualTo(299_000);
        assertThat(rig.granted(5_000, P0).remaining()).isEqualTo(294_000);
      }
    }
  }

  /** Scenario 2, mode off: in another, the share of P1 is less than what is asked for here. */
  @Test
  void scenario2_exhaustion() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(180_000, P0);
      assertThat(rig.available()).isEqualTo(120_000);
      for (int i = 0; i < 40; i++) {
        rig.granted(3_000, P1);
      }
      List<String> served = new ArrayList<>();
      List<CompletableFuture<?>> users = new ArrayList<>();
      for (int i = 1; i <= 10; i++) {
        Outcome.Queued queued = rig.queued(3_000, P1);
        assertThat(queued.queuePosition()).isEqualTo(i);
        assertThat(queued.waitMs()).isEqualTo(750);
        assertThat(queued.etaMs()).isEqualTo(750L * i);
        assertThat(queued.binding()).isEqualTo(Dimension.TOKENS);
        users.add(await(rig, queued, "user" + i, served));
      }
      rig.timer.advance(7 * SECOND);
      assertThat(served).hasSize(9);
      assertThat(rig.available()).isEqualTo(28_000 - 9 * 3_000);
      rig.timer.advance(500 * MS - 1);
      assertThat(users.get(9)).isNotDone();
      rig.timer.advance(1);
      assertThat(users.get(9)).isDone();
      assertThat(served)
          .containsExactly(
              "user1", "user2", "user3", "user4", "user5", "user6", "user7", "user8", "user9",
              "user10");
      rig.timer.advance(500 * MS);
      assertThat(rig.available()).isEqualTo(2_000);
    }
  }

  /** Scenario 3 in the usual mode: what P2 may not use is there for P0 at once. */
  @Test
  void scenario3_emergencyBeforeBatch_ceiling() {
    try (Rig rig = new Rig(Allocation.CEILING)) {
      rig.granted(200_000, P1);
      Outcome.Queued batch = rig.queued(100_000, P2);
      assertThat(batch.binding()).isEqualTo(Dimension.CLASS);
      rig.timer.advance(SECOND);
      assertThat(rig.granted(5_000, P0).remaining()).isEqualTo(99_000);
      assertThat(rig.isWaiting(batch)).isTrue();
    }
  }

  /** Scenario 3 in mode off with nothing left: P0 stands before P2, though it came later. */
  @Test
  void scenario3_emergencyBeforeBatch_off() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P1);
      Outcome.Queued batch = rig.queued(100_000, P2);
      assertThat(batch.queuePosition()).isEqualTo(1);
      rig.timer.advance(SECOND);
      Outcome.Queued emergency = rig.queued(5_000, P0);
      assertThat(emergency.queuePosition()).isEqualTo(1);
      assertThat(emergency.waitMs()).isEqualTo(250);
      assertThat(emergency.etaMs()).isEqualTo(250);
      assertThat(Rig.queued(rig.poll(batch).orElseThrow()).queuePosition()).isEqualTo(2);
      rig.timer.advance(250 * MS);
      Rig.granted(rig.poll(emergency).orElseThrow());
      // 105,000 tokens at 4,000 a second.
      rig.timer.advance(25 * SECOND - 1);
      assertThat(rig.isWaiting(batch)).isTrue();
      rig.timer.advance(1);
      Rig.granted(rig.poll(batch).orElseThrow());
    }
  }

  // ---- answers

  /** Mode off: 3,000 of P1 are 3,000. */
  @Test
  void grantSample() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(60_000, P1);
      Outcome.Granted granted = rig.granted(3_000, P1);
      assertThat(granted.tokens()).isEqualTo(3_000);
      assertThat(granted.requestedTokens()).isEqualTo(3_000);
      assertThat(granted.remaining()).isEqualTo(237_000);
      assertThat(granted.model()).isEqualTo(MODEL);
      assertThat(granted.priority()).isEqualTo(P1);
    }
  }

  /** Mode off, 240,000 a minute: the text shows it for a model with another rate. */
  @Test
  void rejectionSample() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(298_000, P0);
      for (int i = 0; i < 4; i++) {
        rig.queued(10_000, P2);
      }
      Outcome.Queued fifth = rig.queued(10_000, P2);
      assertThat(fifth.tokens()).isEqualTo(10_000);
      assertThat(fifth.remaining()).isEqualTo(2_000);
      assertThat(fifth.waitMs()).isEqualTo(2_000);
      assertThat(fifth.queuePosition()).isEqualTo(5);
      assertThat(fifth.model()).isEqualTo(MODEL);
      assertThat(fifth.priority()).isEqualTo(P2);
      // What the text's formula leaves out: 50,000 are wanted before its turn is over.
      assertThat(fifth.etaMs()).isEqualTo(12_000);
    }
  }

  /** The rejection sample's model has 200,000 a minute: 8,000 of these take longer. */
  @Test
  void rejectionSample_ofItsOwnModel() {
    try (Rig rig = new Rig(ModelBudget.of(200_000, 250_000, Allocation.OFF))) {
      rig.granted(248_000, P0);
      assertThat(rig.queued(10_000, P2).waitMs()).isEqualTo(2_400);
    }
  }

  /** The three examples of the classes, mode scale. */
  @Test
  void classExamples_scale() {
    try (Rig rig = new Rig(Allocation.SCALE)) {
      assertThat(rig.granted(5_000, P0).tokens()).isEqualTo(5_000);
      assertThat(rig.granted(3_000, P1).tokens()).isEqualTo(2_100);
      Outcome.Granted batch = rig.granted(10_000, P2);
      assertThat(batch.tokens()).isEqualTo(4_000);
      assertThat(batch.requestedTokens()).isEqualTo(10_000);
      assertThat(batch.remaining()).isEqualTo(300_000 - 5_000 - 2_100 - 4_000);
    }
  }

  /** 100, 70 and 40 percent of the capacity, mode ceiling. */
  @Test
  void classShares_ceiling() {
    for (Map.Entry<String, Long> most :
        Map.of(P0, 300_000L, P1, 210_000L, P2, 120_000L).entrySet()) {
      try (Rig rig = new Rig(Allocation.CEILING)) {
        Outcome.Refused refused = Rig.refused(rig.ask(most.getValue() + 1, most.getKey()));
        assertThat(refused.reason()).isEqualTo(Outcome.Reason.EXCEEDS_CAPACITY);
        rig.granted(most.getValue(), most.getKey());
        rig.queued(1, most.getKey());
      }
    }
  }

  /** "Medical emergencies always prioritized", mode ceiling: whatever P1 and P2 ask for. */
  @Test
  void headroomOfP0_isThereUnderAnyLoadBelow() {
    try (Rig rig = new Rig(Allocation.CEILING)) {
      for (int i = 0; i < 2_000; i++) {
        rig.ask(1_000, i % 2 == 0 ? P1 : P2);
      }
      for (int second = 1; second < 300; second++) {
        rig.timer.advance(SECOND);
        assertThat(rig.available()).isGreaterThanOrEqualTo(90_000);
        rig.granted(3_000, P0);
      }
      assertThat(rig.status().queueLengths().get(P1)).isPositive();
      assertThat(rig.granted(80_000, P0).tokens()).isEqualTo(80_000);
    }
  }

  // ---- formulas

  /** 4,000 a second, in a minute from 60,000 to 300,000 and not beyond. */
  @Test
  void refillExample() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      assertThat(rig.status().refillRate()).isEqualTo(4_000);
      rig.granted(240_000, P0);
      assertThat(rig.available()).isEqualTo(60_000);
      rig.timer.advance(MINUTE - 1);
      assertThat(rig.available()).isEqualTo(299_999);
      rig.timer.advance(1);
      assertThat(rig.available()).isEqualTo(300_000);
      rig.timer.advance(MINUTE);
      assertThat(rig.available()).isEqualTo(300_000);
    }
  }

  /** Needed 10,000, there 2,000, at 4,000 a second: 2,000 ms, and then it is granted. */
  @Test
  void waitFormula() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(298_000, P0);
      Outcome.Queued queued = rig.queued(10_000, P2);
      assertThat(queued.waitMs()).isEqualTo(2_000);
      rig.timer.advance(queued.waitMs() * MS - 1);
      assertThat(rig.isWaiting(queued)).isTrue();
      rig.timer.advance(1);
      Rig.granted(rig.poll(queued).orElseThrow());
    }
  }

  /** P0, then P1, then P2; first come, first served within each. */
  @Test
  void queueProcessingOrder() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, P0);
      List<String> order = new ArrayList<>();
      List<CompletableFuture<?>> all = new ArrayList<>();
      for (String name : new String[] {P2, P1, P0, P2, P1, P0}) {
        all.add(await(rig, rig.queued(4_000, name), name + all.size(), order));
      }
      rig.timer.advance(6 * SECOND);
      assertThat(order).containsExactly(P0 + 2, P0 + 5, P1 + 1, P1 + 4, P2 + 0, P2 + 3);
    }
  }

  // ---- the manager

  @Test
  void manager_hasABucketForEachModel_apartFromTheOthers() {
    try (Rig rig = new Rig(BudgetFile.shipped())) {
      assertThat(rig.governor.status().buckets().keySet())
          .containsExactly(MODEL, "OX7A3F8D", "GE6D8A4F", "deepseek-r1");
      Rig.granted(rig.governor.request(MODEL, 5_000, P1));
      assertThat(rig.available()).isEqualTo(295_000);
      assertThat(rig.status("OX7A3F8D").available()).isEqualTo(250_000);
      assertThat(rig.status("GE6D8A4F").available()).isEqualTo(400_000);
      assertThat(rig.status("deepseek-r1").available()).isEqualTo(220_000);
    }
  }

  @Test
  void globalStatusSample() {
    Map<String, ModelBudget> models = new LinkedHashMap<>();
    models.put(MODEL, Rig.sonnet(Allocation.OFF));
    models.put("OX7A3F8D", ModelBudget.of(200_000, 250_000, Allocation.OFF));
    try (Rig rig = new Rig(Rig.config(models))) {
      rig.granted(63_000, P0);
      rig.governor.request("OX7A3F8D", 52_000, P0);
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
  }

  /** Each metric of the text, after scenario 2. */
  @Test
  void metrics() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(180_000, P0);
      for (int i = 0; i < 50; i++) {
        rig.ask(3_000, P1);
      }
      assertThat(rig.status().queueLengths()).isEqualTo(Map.of(P0, 0, P1, 10, P2, 0));
      assertThat(rig.status().metrics().refillCount()).isZero();
      rig.timer.advance(8 * SECOND);
      assertThat(inLine(rig)).isZero();
      Counts counts = rig.status().metrics();
      assertThat(counts.totalRequests()).isEqualTo(51);
      assertThat(counts.acceptedRequests()).isEqualTo(41);
      assertThat(counts.rejectedRequests()).isEqualTo(10);
      assertThat(counts.tokensConsumed()).isEqualTo(330_000);
      // Ten wake-ups; a look at the status is no decision.
      assertThat(counts.refillCount()).isEqualTo(10);
    }
  }
}
