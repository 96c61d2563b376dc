package dev.sluice.governor;

import static dev.sluice.governor.Desk.MINUTE;
import static dev.sluice.governor.Desk.MS;
import static dev.sluice.governor.Desk.SECOND;
import static dev.sluice.governor.Desk.SONNET;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.engine.ClassWaitingList;
import dev.sluice.governor.engine.Forecaster;
import dev.sluice.governor.engine.TokenDemand;
import dev.sluice.governor.engine.TokenWaiter;
import dev.sluice.governor.engine.WaitReason;
import dev.sluice.governor.spi.ModelLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ModelLineTest {
  private static final double[] OFF = {1, 1, 1};
  private static final double[] CEILINGS = {1, 0.7, 0.4};

  @Test
  void smallRequest_doesNotOvertakeOneOfItsClassOrAbove() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask(0, 299_000);
    TokenWaiter large = desk.ask(0, 200_000);
    TokenWaiter small = desk.ask(0, 1);
    TokenWaiter lower = desk.ask(2, 1);
    assertThat(desk.isGranted(small)).isFalse();
    assertThat(desk.isGranted(lower)).isFalse();
    desk.advanceTo(MINUTE);
    assertThat(new ArrayList<>(desk.granted.keySet())).endsWith(large, small, lower);
  }

  @Test
  void heldByItsCeilingOnly_holdsUpNobodyAbove() {
    Desk desk = new Desk(Desk.limits(SONNET, CEILINGS));
    desk.ask(1, 200_000);
    TokenWaiter batch = desk.ask(2, 50_000);
    assertThat(desk.isGranted(batch)).isFalse();
    assertThat(new Forecaster(desk.line, 0).alone(batch.demand).by())
        .isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(desk.isGranted(desk.ask(1, 10_000))).isTrue();
    assertThat(desk.isGranted(desk.ask(0, 90_000))).isTrue();
  }

  @Test
  void lateRefund_admitsNotOneTokenBeyondTheLimit() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    TokenWaiter first = desk.ask(0, 240_000);
    desk.advanceTo(MINUTE);
    TokenWaiter second = desk.ask(0, 300_000);
    assertThat(desk.isGranted(second)).isTrue();
    assertThat(desk.settle(first, 0)).isZero();
    assertThat(desk.line.available()).isZero();
  }

  @Test
  void refund_isWholeWhileTheBucketStillOwesIt() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    TokenWaiter first = desk.ask(0, 10_000);
    TokenWaiter second = desk.ask(0, 20_000);
    assertThat(desk.settle(first, 4_000)).isEqualTo(6_000);
    assertThat(desk.line.available()).isEqualTo(276_000);
    assertThat(desk.settle(second, 0)).isEqualTo(20_000);
    assertThat(desk.line.available()).isEqualTo(296_000);
    // Half of what is unused has come back by itself.
    TokenWaiter third = desk.ask(0, 8_000);
    desk.advanceTo(2 * SECOND);
    assertThat(desk.settle(third, 0)).isEqualTo(4_000);
    assertThat(desk.line.available()).isEqualTo(300_000);
  }

  @Test
  void moreThanReserved_isDebtThatTimePays() {
    Limit.Balanced small = Desk.limit(200_000, 240_000, MINUTE);
    Desk desk =
        new Desk(
            new ModelLimits(
                small, List.of(), 0, Desk.classes(small, OFF), Map.of(), null, 204_000));
    TokenWaiter first = desk.ask(0, 200_000);
    assertThat(desk.settle(first, 300_000)).isEqualTo(-4_000);
    assertThat(desk.line.available()).isEqualTo(-4_000);
    TokenWaiter next = desk.ask(0, 4_000);
    desk.advanceTo(2 * SECOND - 1);
    assertThat(desk.isGranted(next)).isFalse();
    desk.advanceTo(2 * SECOND);
    assertThat(desk.isGranted(next)).isTrue();
  }

  @Test
  void settledTwice_isRefused() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    TokenWaiter first = desk.ask(0, 1_000);
    desk.settle(first, 500);
    assertThatThrownBy(() -> desk.settle(first, 0)).isInstanceOf(IllegalStateException.class);
    assertThat(desk.line.running()).isZero();
    assertThat(desk.line.available()).isEqualTo(299_500);
  }

  @Test
  void tenants_takeTurnsByTokens_eachFirstComeFirstServed() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask("noisy", 1, 300_000);
    List<TokenWaiter> noisy = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      noisy.add(desk.ask("noisy", 1, 4_000));
    }
    TokenWaiter quiet = desk.ask("quiet", 1, 4_000);
    assertThat(new Forecaster(desk.line, desk.now).of(quiet).position()).isLessThanOrEqualTo(2);
    desk.advanceTo(2 * SECOND);
    assertThat(desk.isGranted(quiet)).isTrue();
    desk.advanceTo(2 * MINUTE);
    assertThat(desk.granted.keySet()).containsSubsequence(noisy);
  }

  @Test
  void tenantWithoutBudget_holdsUpNobody() {
    ModelLimits limits =
        new ModelLimits(
            SONNET,
            List.of(),
            0,
            Desk.classes(SONNET, OFF),
            Map.of("small", Desk.limit(1_000, 600, MINUTE)),
            null,
            SONNET.capacity());
    Desk desk = new Desk(limits);
    assertThat(desk.isGranted(desk.ask("small", 0, 1_000))).isTrue();
    TokenWaiter held = desk.ask("small", 0, 100);
    assertThat(desk.isGranted(held)).isFalse();
    assertThat(new Forecaster(desk.line, 0).alone(held.demand).by())
        .isEqualTo(BudgetDimension.TENANT);
    assertThat(desk.isGranted(desk.ask("large", 2, 200_000))).isTrue();
    desk.advanceTo(10 * SECOND - 1);
    assertThat(desk.isGranted(held)).isFalse();
    desk.advanceTo(10 * SECOND);
    assertThat(desk.isGranted(held)).isTrue();
    assertThat(desk.line.largest(held.demand)).isEqualTo(1_000);
  }

  @Test
  void requestsAndConcurrency_bindToo() {
    ModelLimits limits =
        new ModelLimits(
            SONNET,
            List.of(Desk.limit(2, 1, SECOND)),
            3,
            Desk.classes(SONNET, OFF),
            Map.of(),
            null,
            SONNET.capacity());
    Desk desk = new Desk(limits);
    TokenWaiter first = desk.ask(0, 1);
    desk.ask(0, 1);
    TokenWaiter third = desk.ask(0, 1);
    assertThat(desk.isGranted(third)).isFalse();
    assertThat(new Forecaster(desk.line, 0).alone(third.demand))
        .isEqualTo(new WaitReason(BudgetDimension.REQUESTS, SECOND));
    desk.advanceTo(SECOND);
    assertThat(desk.isGranted(third)).isTrue();
    desk.advanceTo(10 * SECOND);
    TokenWaiter fourth = desk.ask(0, 1);
    assertThat(desk.isGranted(fourth)).isFalse();
    assertThat(new Forecaster(desk.line, desk.now).alone(fourth.demand).by())
        .isEqualTo(BudgetDimension.CONCURRENCY);
    desk.settle(first, 1);
    assertThat(desk.isGranted(fourth)).isTrue();
  }

  @Test
  void guarantee_boundsTheWaitOfTheLowest_andOfTheHighest() {
    Limit.Balanced tenth = Desk.limit(30_000, 24_000, MINUTE);
    List<ModelLimits.ClassLimit> classes = new ArrayList<>(Desk.classes(SONNET, 1, 0.7));
    classes.add(new ModelLimits.ClassLimit("P2", 120_000, tenth));
    Desk desk =
        new Desk(new ModelLimits(SONNET, List.of(), 0, classes, Map.of(), null, SONNET.capacity()));
    TokenWaiter batch = desk.ask(2, 20_000);
    long longestBatch = 0;
    long longestGap = 0;
    long lastEmergency = 0;
    List<TokenWaiter> emergencies = new ArrayList<>();
    for (long time = 0; time < 20 * MINUTE; time += 50 * MS) {
      desk.advanceTo(time);
      if (emergencies.removeIf(each -> !each.inLine)) {
        lastEmergency = time;
      }
      longestGap = Math.max(longestGap, time - lastEmergency);
      // More of the highest class than the model can ever do.
      while (emergencies.size() < 20) {
        emergencies.add(desk.ask(0, 4_000));
      }
      longestBatch = Math.max(longestBatch, time - batch.since);
      if (!batch.inLine) {
        batch = desk.ask(2, 20_000);
      }
    }
    // 20,000 at 400 a second, then as many at 4,000.
    assertThat(longestBatch).isBetween(49 * SECOND, 56 * SECOND);
    // The next of the highest waits for one of the lowest at the most.
    assertThat(longestGap).isBetween(5 * SECOND, 6 * SECOND + 100 * MS);
  }

  @Test
  void guarantee_isNotMissed_whileEverybodyWaitsForTheShareOfTheirClass() {
    List<ModelLimits.ClassLimit> classes = new ArrayList<>(Desk.classes(SONNET, 1, 0.7));
    classes.add(
        new ModelLimits.ClassLimit("last", 120_000, Desk.limit(30_000, 24_000, Desk.MINUTE)));
    Desk desk =
        new Desk(new ModelLimits(SONNET, List.of(), 0, classes, Map.of(), null, SONNET.capacity()));
    desk.ask(2, 30_000); // what was guaranteed is used up
    desk.ask(0, 270_000);
    TokenWaiter last = desk.ask(2, 4_000);
    desk.advanceTo(10 * SECOND);
    assertThat(desk.isGranted(last)).isTrue();
  }

  @Test
  void tenantsThatStepAsideAgainAndAgain_areNotRemembered() {
    ClassWaitingList line = new ClassWaitingList();
    line.add(new TokenDemand("other", 1, 0, 1), 0);
    for (int i = 0; i < 100_000; i++) {
      TokenWaiter waiting = line.add(new TokenDemand("t", 1, 0, 1), 0);
      line.stepAside(waiting, 1_000_000 + i / 2);
      assertThat(line.leave(waiting)).isTrue();
    }
    assertThat(line.remembered()).isLessThan(1_000);
  }
}
