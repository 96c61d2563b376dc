package dev.sluice.governor;

import static dev.sluice.governor.Desk.MINUTE;
import static dev.sluice.governor.Desk.MS;
import static dev.sluice.governor.Desk.SECOND;
import static dev.sluice.governor.Desk.SONNET;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ModelLineTest {
  private static final double[] OFF = {1, 1, 1};
  private static final double[] CEILINGS = {1, 0.7, 0.4};

  @Test
  void burstOfEmergencies_bothAtOnce() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask(0, 5_000);
    assertThat(desk.line.available()).isEqualTo(295_000);
    desk.ask(0, 5_000);
    assertThat(desk.line.available()).isEqualTo(290_000);
    // A second later the first would have come back: 300,000 - 5,000 + 4,000 = 299,000.
    Desk later = new Desk(Desk.limits(SONNET, OFF));
    later.ask(0, 5_000);
    later.advanceTo(SECOND);
    assertThat(later.line.available()).isEqualTo(299_000);
    later.ask(0, 5_000);
    assertThat(later.line.available()).isEqualTo(294_000);
  }

  @Test
  void exhaustion_fortyAtOnce_tenInLine_allWithinEightSeconds() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask(1, 180_000);
    List<Waiting> users = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      users.add(desk.ask(1, 3_000));
    }
    assertThat(users.subList(0, 40)).allMatch(desk::isGranted);
    assertThat(users.subList(40, 50)).noneMatch(desk::isGranted);
    Waiting tenth = users.get(49);
    assertThat(desk.line.place(tenth, desk.now).position()).isEqualTo(10);
    assertThat(desk.line.place(tenth, desk.now).nanos()).isEqualTo(7_500 * MS);
    assertThat(desk.line.alone(tenth.demand, desk.now).nanos()).isEqualTo(750 * MS);
    desk.advanceTo(7 * SECOND);
    assertThat(users.stream().filter(desk::isGranted).count()).isEqualTo(49);
    desk.advanceTo(7_500 * MS - 1);
    assertThat(desk.isGranted(tenth)).isFalse();
    desk.advanceTo(7_500 * MS);
    assertThat(desk.isGranted(tenth)).isTrue();
  }

  @Test
  void emergency_goesBeforeABatchThatWaits() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask(1, 300_000);
    Waiting batch = desk.ask(2, 100_000);
    desk.advanceTo(SECOND);
    Waiting emergency = desk.ask(0, 5_000);
    assertThat(desk.line.place(emergency, desk.now).position()).isEqualTo(1);
    assertThat(desk.line.place(batch, desk.now).position()).isEqualTo(2);
    desk.advanceTo(1_250 * MS);
    assertThat(desk.isGranted(emergency)).isTrue();
    assertThat(desk.isGranted(batch)).isFalse();
    // 105,000 tokens at 4,000 a second.
    desk.advanceTo(26_250 * MS - 1);
    assertThat(desk.isGranted(batch)).isFalse();
    desk.advanceTo(26_250 * MS);
    assertThat(desk.isGranted(batch)).isTrue();
  }

  @Test
  void smallRequest_doesNotOvertakeOneOfItsClassOrAbove() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask(0, 299_000);
    Waiting large = desk.ask(0, 200_000);
    Waiting small = desk.ask(0, 1);
    Waiting lower = desk.ask(2, 1);
    assertThat(desk.isGranted(small)).isFalse();
    assertThat(desk.isGranted(lower)).isFalse();
    desk.advanceTo(MINUTE);
    assertThat(new ArrayList<>(desk.granted.keySet())).endsWith(large, small, lower);
  }

  @Test
  void ceiling_keepsHeadroomForThoseAbove_underAnyLoad() {
    Desk desk = new Desk(Desk.limits(SONNET, CEILINGS));
    for (int i = 0; i < 1_000; i++) {
      desk.ask(1 + i % 2, 1_000);
    }
    for (int second = 1; second < 300; second++) {
      desk.advanceTo(second * SECOND);
      assertThat(desk.line.available()).isGreaterThanOrEqualTo(90_000);
      Waiting emergency = desk.ask(0, 3_000);
      assertThat(desk.isGranted(emergency)).isTrue();
    }
  }

  @Test
  void heldByItsCeilingOnly_holdsUpNobodyAbove() {
    Desk desk = new Desk(Desk.limits(SONNET, CEILINGS));
    desk.ask(1, 200_000);
    Waiting batch = desk.ask(2, 50_000);
    assertThat(desk.isGranted(batch)).isFalse();
    assertThat(desk.line.alone(batch.demand, 0).by()).isEqualTo(Dimension.CLASS);
    assertThat(desk.isGranted(desk.ask(1, 10_000))).isTrue();
    assertThat(desk.isGranted(desk.ask(0, 90_000))).isTrue();
  }

  @Test
  void lateRefund_admitsNotOneTokenBeyondTheLimit() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    Waiting first = desk.ask(0, 240_000);
    desk.advanceTo(MINUTE);
    Waiting second = desk.ask(0, 300_000);
    assertThat(desk.isGranted(second)).isTrue();
    assertThat(desk.settle(first, 0)).isZero();
    assertThat(desk.line.available()).isZero();
  }

  @Test
  void refund_isWholeWhileTheBucketStillOwesIt() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    Waiting first = desk.ask(0, 10_000);
    Waiting second = desk.ask(0, 20_000);
    assertThat(desk.settle(first, 4_000)).isEqualTo(6_000);
    assertThat(desk.line.available()).isEqualTo(276_000);
    assertThat(desk.settle(second, 0)).isEqualTo(20_000);
    assertThat(desk.line.available()).isEqualTo(296_000);
    // Half of what is unused has come back by itself.
    Waiting third = desk.ask(0, 8_000);
    desk.advanceTo(2 * SECOND);
    assertThat(desk.settle(third, 0)).isEqualTo(4_000);
    assertThat(desk.line.available()).isEqualTo(300_000);
  }

  @Test
  void moreThanReserved_isDebtThatTimePays() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    Waiting first = desk.ask(0, 300_000);
    assertThat(desk.settle(first, 304_000)).isEqualTo(-4_000);
    assertThat(desk.line.available()).isEqualTo(-4_000);
    Waiting next = desk.ask(0, 4_000);
    desk.advanceTo(2 * SECOND - 1);
    assertThat(desk.isGranted(next)).isFalse();
    desk.advanceTo(2 * SECOND);
    assertThat(desk.isGranted(next)).isTrue();
  }

  @Test
  void settledTwice_isRefused() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    Waiting first = desk.ask(0, 1_000);
    desk.settle(first, 500);
    assertThatThrownBy(() -> desk.settle(first, 0)).isInstanceOf(IllegalStateException.class);
    assertThat(desk.line.running()).isZero();
    assertThat(desk.line.available()).isEqualTo(299_500);
  }

  @Test
  void tenants_takeTurnsByTokens_eachFirstComeFirstServed() {
    Desk desk = new Desk(Desk.limits(SONNET, OFF));
    desk.ask("noisy", 1, 300_000);
    List<Waiting> noisy = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      noisy.add(desk.ask("noisy", 1, 4_000));
    }
    Waiting quiet = desk.ask("quiet", 1, 4_000);
    assertThat(desk.line.place(quiet, desk.now).position()).isLessThanOrEqualTo(2);
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
            Map.of("small", new ModelLimits.Rate(1_000, 600, MINUTE)),
            null);
    Desk desk = new Desk(limits);
    assertThat(desk.isGranted(desk.ask("small", 0, 1_000))).isTrue();
    Waiting held = desk.ask("small", 0, 100);
    assertThat(desk.isGranted(held)).isFalse();
    assertThat(desk.line.alone(held.demand, 0).by()).isEqualTo(Dimension.TENANT);
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
            List.of(new ModelLimits.Rate(2, 1, SECOND)),
            3,
            Desk.classes(SONNET, OFF),
            Map.of(),
            null);
    Desk desk = new Desk(limits);
    Waiting first = desk.ask(0, 1);
    desk.ask(0, 1);
    Waiting third = desk.ask(0, 1);
    assertThat(desk.isGranted(third)).isFalse();
    assertThat(desk.line.alone(third.demand, 0)).isEqualTo(new Held(Dimension.REQUESTS, SECOND));
    desk.advanceTo(SECOND);
    assertThat(desk.isGranted(third)).isTrue();
    desk.advanceTo(10 * SECOND);
    Waiting fourth = desk.ask(0, 1);
    assertThat(desk.isGranted(fourth)).isFalse();
    assertThat(desk.line.alone(fourth.demand, desk.now).by()).isEqualTo(Dimension.CONCURRENCY);
    desk.settle(first, 1);
    assertThat(desk.isGranted(fourth)).isTrue();
  }

  @Test
  void guarantee_boundsTheWaitOfTheLowest_andOfTheHighest() {
    ModelLimits.Rate tenth = new ModelLimits.Rate(30_000, 24_000, MINUTE);
    List<ModelLimits.ClassLimit> classes = new ArrayList<>(Desk.classes(SONNET, 1, 0.7));
    classes.add(new ModelLimits.ClassLimit("P2", 120_000, tenth));
    Desk desk = new Desk(new ModelLimits(SONNET, List.of(), 0, classes, Map.of(), null));
    Waiting batch = desk.ask(2, 20_000);
    long longestBatch = 0;
    long longestGap = 0;
    long lastEmergency = 0;
    List<Waiting> emergencies = new ArrayList<>();
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
}
