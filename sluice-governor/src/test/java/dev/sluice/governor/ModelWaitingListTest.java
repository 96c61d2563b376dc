package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.MS;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static dev.sluice.governor.WaitingListFixture.SONNET;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.governor.internal.engine.ClassWaitingList;
import dev.sluice.governor.internal.engine.Forecaster;
import dev.sluice.governor.internal.engine.TokenDemand;
import dev.sluice.governor.internal.engine.TokenWaiter;
import dev.sluice.governor.internal.engine.WaitReason;
import dev.sluice.governor.spi.ModelLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ModelWaitingListTest {
  private static final double[] OFF = {1, 1, 1};
  private static final double[] CEILINGS = {1, 0.7, 0.4};

  @Test
  void smallRequest_doesNotOvertakeOneOfItsClassOrAbove() {
    WaitingListFixture fixture = new WaitingListFixture(WaitingListFixture.limits(SONNET, OFF));
    fixture.ask(0, 299_000);
    TokenWaiter large = fixture.ask(0, 200_000);
    TokenWaiter small = fixture.ask(0, 1);
    TokenWaiter lower = fixture.ask(2, 1);
    assertThat(fixture.isGranted(small)).isFalse();
    assertThat(fixture.isGranted(lower)).isFalse();
    fixture.advanceTo(MINUTE);
    assertThat(new ArrayList<>(fixture.granted.keySet())).endsWith(large, small, lower);
  }

  @Test
  void waiterHeldByItsCeiling_delaysNoMoreUrgentClass() {
    WaitingListFixture fixture =
        new WaitingListFixture(WaitingListFixture.limits(SONNET, CEILINGS));
    fixture.ask(1, 200_000);
    TokenWaiter batch = fixture.ask(2, 50_000);
    assertThat(fixture.isGranted(batch)).isFalse();
    assertThat(new Forecaster(fixture.waitingList, 0).alone(batch.demand).by())
        .isEqualTo(BudgetDimension.PRIORITY_CLASS);
    assertThat(fixture.isGranted(fixture.ask(1, 10_000))).isTrue();
    assertThat(fixture.isGranted(fixture.ask(0, 90_000))).isTrue();
  }

  @Test
  void lateRefund_admitsNotOneTokenBeyondTheLimit() {
    WaitingListFixture fixture = new WaitingListFixture(WaitingListFixture.limits(SONNET, OFF));
    TokenWaiter first = fixture.ask(0, 240_000);
    fixture.advanceTo(MINUTE);
    TokenWaiter second = fixture.ask(0, 300_000);
    assertThat(fixture.isGranted(second)).isTrue();
    assertThat(fixture.settle(first, 0)).isZero();
    assertThat(fixture.waitingList.available()).isZero();
  }

  @Test
  void refund_isCompleteWhileTheBucketOwesIt() {
    WaitingListFixture fixture = new WaitingListFixture(WaitingListFixture.limits(SONNET, OFF));
    TokenWaiter first = fixture.ask(0, 10_000);
    TokenWaiter second = fixture.ask(0, 20_000);
    assertThat(fixture.settle(first, 4_000)).isEqualTo(6_000);
    assertThat(fixture.waitingList.available()).isEqualTo(276_000);
    assertThat(fixture.settle(second, 0)).isEqualTo(20_000);
    assertThat(fixture.waitingList.available()).isEqualTo(296_000);
    // Half of what is unused has come back by itself.
    TokenWaiter third = fixture.ask(0, 8_000);
    fixture.advanceTo(2 * SECOND);
    assertThat(fixture.settle(third, 0)).isEqualTo(4_000);
    assertThat(fixture.waitingList.available()).isEqualTo(300_000);
  }

  @Test
  void overuse_isDebtThatRefillsRepay() {
    Limit.Balanced small = WaitingListFixture.limit(200_000, 240_000, MINUTE);
    WaitingListFixture fixture =
        new WaitingListFixture(
            new ModelLimits(
                small,
                List.of(),
                0,
                WaitingListFixture.classes(small, OFF),
                Map.of(),
                null,
                204_000));
    TokenWaiter first = fixture.ask(0, 200_000);
    assertThat(fixture.settle(first, 300_000)).isEqualTo(-4_000);
    assertThat(fixture.waitingList.available()).isEqualTo(-4_000);
    TokenWaiter next = fixture.ask(0, 4_000);
    fixture.advanceTo(2 * SECOND - 1);
    assertThat(fixture.isGranted(next)).isFalse();
    fixture.advanceTo(2 * SECOND);
    assertThat(fixture.isGranted(next)).isTrue();
  }

  @Test
  void settledTwice_isRefused() {
    WaitingListFixture fixture = new WaitingListFixture(WaitingListFixture.limits(SONNET, OFF));
    TokenWaiter first = fixture.ask(0, 1_000);
    fixture.settle(first, 500);
    assertThatThrownBy(() -> fixture.settle(first, 0)).isInstanceOf(IllegalStateException.class);
    assertThat(fixture.waitingList.running()).isZero();
    assertThat(fixture.waitingList.available()).isEqualTo(299_500);
  }

  @Test
  void tenants_takeTurnsByTokens_eachFirstComeFirstServed() {
    WaitingListFixture fixture = new WaitingListFixture(WaitingListFixture.limits(SONNET, OFF));
    fixture.ask("noisy", 1, 300_000);
    List<TokenWaiter> noisy = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      noisy.add(fixture.ask("noisy", 1, 4_000));
    }
    TokenWaiter quiet = fixture.ask("quiet", 1, 4_000);
    assertThat(new Forecaster(fixture.waitingList, fixture.now).of(quiet).position())
        .isLessThanOrEqualTo(2);
    fixture.advanceTo(2 * SECOND);
    assertThat(fixture.isGranted(quiet)).isTrue();
    fixture.advanceTo(2 * MINUTE);
    assertThat(fixture.granted.keySet()).containsSubsequence(noisy);
  }

  @Test
  void waiterHeldByItsTenant_delaysNoOtherTenant() {
    ModelLimits limits =
        new ModelLimits(
            SONNET,
            List.of(),
            0,
            WaitingListFixture.classes(SONNET, OFF),
            Map.of("small", WaitingListFixture.limit(1_000, 600, MINUTE)),
            null,
            SONNET.capacity());
    WaitingListFixture fixture = new WaitingListFixture(limits);
    assertThat(fixture.isGranted(fixture.ask("small", 0, 1_000))).isTrue();
    TokenWaiter held = fixture.ask("small", 0, 100);
    assertThat(fixture.isGranted(held)).isFalse();
    assertThat(new Forecaster(fixture.waitingList, 0).alone(held.demand).by())
        .isEqualTo(BudgetDimension.TENANT);
    assertThat(fixture.isGranted(fixture.ask("large", 2, 200_000))).isTrue();
    fixture.advanceTo(10 * SECOND - 1);
    assertThat(fixture.isGranted(held)).isFalse();
    fixture.advanceTo(10 * SECOND);
    assertThat(fixture.isGranted(held)).isTrue();
    assertThat(fixture.waitingList.largest(held.demand)).isEqualTo(1_000);
  }

  @Test
  void requestsAndConcurrency_bindToo() {
    ModelLimits limits =
        new ModelLimits(
            SONNET,
            List.of(WaitingListFixture.limit(2, 1, SECOND)),
            3,
            WaitingListFixture.classes(SONNET, OFF),
            Map.of(),
            null,
            SONNET.capacity());
    WaitingListFixture fixture = new WaitingListFixture(limits);
    TokenWaiter first = fixture.ask(0, 1);
    fixture.ask(0, 1);
    TokenWaiter third = fixture.ask(0, 1);
    assertThat(fixture.isGranted(third)).isFalse();
    assertThat(new Forecaster(fixture.waitingList, 0).alone(third.demand))
        .isEqualTo(new WaitReason(BudgetDimension.REQUESTS, SECOND));
    fixture.advanceTo(SECOND);
    assertThat(fixture.isGranted(third)).isTrue();
    fixture.advanceTo(10 * SECOND);
    TokenWaiter fourth = fixture.ask(0, 1);
    assertThat(fixture.isGranted(fourth)).isFalse();
    assertThat(new Forecaster(fixture.waitingList, fixture.now).alone(fourth.demand).by())
        .isEqualTo(BudgetDimension.CONCURRENCY);
    fixture.settle(first, 1);
    assertThat(fixture.isGranted(fourth)).isTrue();
  }

  @Test
  void minimumShare_boundsTheWaitOfEveryClass() {
    Limit.Balanced tenth = WaitingListFixture.limit(30_000, 24_000, MINUTE);
    List<ModelLimits.ClassLimit> classes =
        new ArrayList<>(WaitingListFixture.classes(SONNET, 1, 0.7));
    classes.add(new ModelLimits.ClassLimit("P2", 120_000, tenth));
    WaitingListFixture fixture =
        new WaitingListFixture(
            new ModelLimits(SONNET, List.of(), 0, classes, Map.of(), null, SONNET.capacity()));
    TokenWaiter batch = fixture.ask(2, 20_000);
    long longestBatch = 0;
    long longestGap = 0;
    long lastEmergency = 0;
    List<TokenWaiter> emergencies = new ArrayList<>();
    for (long time = 0; time < 20 * MINUTE; time += 50 * MS) {
      fixture.advanceTo(time);
      if (emergencies.removeIf(each -> !each.isWaiting)) {
        lastEmergency = time;
      }
      longestGap = Math.max(longestGap, time - lastEmergency);
      // More of the highest class than the model can ever do.
      while (emergencies.size() < 20) {
        emergencies.add(fixture.ask(0, 4_000));
      }
      longestBatch = Math.max(longestBatch, time - batch.since);
      if (!batch.isWaiting) {
        batch = fixture.ask(2, 20_000);
      }
    }
    // 20,000 at 400 a second, then as many at 4,000.
    assertThat(longestBatch).isBetween(49 * SECOND, 56 * SECOND);
    // The next of the highest waits for one of the lowest at the most.
    assertThat(longestGap).isBetween(5 * SECOND, 6 * SECOND + 100 * MS);
  }

  @Test
  void minimumShare_appliesWhileAllWaitForTheirClass() {
    List<ModelLimits.ClassLimit> classes =
        new ArrayList<>(WaitingListFixture.classes(SONNET, 1, 0.7));
    classes.add(
        new ModelLimits.ClassLimit(
            "last", 120_000, WaitingListFixture.limit(30_000, 24_000, WaitingListFixture.MINUTE)));
    WaitingListFixture fixture =
        new WaitingListFixture(
            new ModelLimits(SONNET, List.of(), 0, classes, Map.of(), null, SONNET.capacity()));
    fixture.ask(2, 30_000); // what was guaranteed is used up
    fixture.ask(0, 270_000);
    TokenWaiter last = fixture.ask(2, 4_000);
    fixture.advanceTo(10 * SECOND);
    assertThat(fixture.isGranted(last)).isTrue();
  }

  @Test
  void tenantsHeldRepeatedly_leaveNoState() {
    ClassWaitingList waitingList = new ClassWaitingList();
    waitingList.add(new TokenDemand("other", 1, 0, 1), 0);
    for (int i = 0; i < 100_000; i++) {
      TokenWaiter waiting = waitingList.add(new TokenDemand("t", 1, 0, 1), 0);
      waitingList.setAside(waiting, 1_000_000 + i / 2);
      assertThat(waitingList.leave(waiting)).isTrue();
    }
    assertThat(waitingList.remembered()).isLessThan(1_000);
  }
}
