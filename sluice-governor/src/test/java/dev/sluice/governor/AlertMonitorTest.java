package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.governor.internal.monitor.AlertMonitor;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AlertMonitorTest {
  private static final Instant AT = Instant.parse("2026-01-02T03:04:05Z");

  private final AlertMonitor monitor = new AlertMonitor("m", AlertConfig.builder().build(), 0);

  private void asked(int requests, int rejected, long now) {
    for (int i = 0; i < requests; i++) {
      monitor.asked(i < rejected, now);
    }
  }

  private static GovernorStatus.Model status(
      int waiting, long available, Optional<GovernorStatus.Exhaustion> exhaustion) {
    return new GovernorStatus.Model(
        "m",
        300_000,
        available,
        240_000,
        AT,
        Map.of("P0_clinical", waiting / 2, "P1_user", waiting - waiting / 2),
        0,
        new GovernorStatus.Counts(0, 0, 0, 0, 0),
        GovernorStatus.Audit.NONE,
        GovernorStatus.Provider.UNKNOWN,
        exhaustion,
        List.of());
  }

  private List<AlertMonitor.Change> check(int waiting, long available, long now, Instant at) {
    return monitor.check(status(waiting, available, Optional.empty()), now, at);
  }

  private List<GovernorStatus.Alert.Kind> kinds() {
    return monitor.alerts().stream().map(GovernorStatus.Alert::kind).toList();
  }

  private List<GovernorStatus.Alert.Kind> kinds(int waiting, long available, long now) {
    check(waiting, available, now, AT);
    return kinds();
  }

  /** One is in line, and has waited for more than there is. */
  private List<AlertMonitor.Change> exhausted(
      BudgetDimension dimension, long available, long needed, Duration lasts) {
    GovernorStatus.Exhaustion head = new GovernorStatus.Exhaustion(dimension, needed, lasts);
    return monitor.check(status(1, available, Optional.of(head)), 0, AT);
  }

  @Test
  void rejections_raise_aboveFivePercent_fromTwentyRequestsOn() {
    asked(19, 19, 0);
    assertThat(kinds(0, 1, 0)).isEmpty();
    asked(1, 0, 0);
    assertThat(kinds(0, 1, 0)).containsExactly(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE);
  }

  @Test
  void exactlyTheThreshold_raisesNoAlert() {
    for (int done = 20; done <= 20_000; done += 20) {
      asked(20, 1, 0);
      assertThat(kinds(0, 1, 0)).isEmpty();
    }
    asked(1, 1, 0);
    assertThat(kinds(0, 1, 0)).containsExactly(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE);
  }

  @Test
  void waitingList_raisesAnAlertAboveAHundred() {
    assertThat(kinds(100, 1, 0)).isEmpty();
    assertThat(kinds(101, 1, 0)).containsExactly(GovernorStatus.Alert.Kind.QUEUE_BUILDUP);
    assertThat(kinds(100, 1, 0)).isEmpty();
  }

  @Test
  void headThatTheModelCannotServe_raises_onceThatLastsAnInterval() {
    Duration interval = AlertConfig.builder().build().interval();
    // Half of the burst is left.
    exhausted(BudgetDimension.TOKENS, 150_000, 270_000, interval.minusNanos(1));
    assertThat(kinds()).isEmpty();
    exhausted(BudgetDimension.TOKENS, 150_000, 270_000, interval);
    assertThat(kinds()).containsExactly(GovernorStatus.Alert.Kind.BUCKET_EXHAUSTED);
    assertThat(monitor.alerts().get(0).value()).isEqualTo(150_000);
    assertThat(monitor.alerts().get(0).threshold()).isEqualTo(270_000);
    // Another is the head, and has only begun to wait.
    exhausted(BudgetDimension.TOKENS, -5, 10, interval.multipliedBy(2));
    assertThat(monitor.alerts().get(0).value()).isEqualTo(-5);
    exhausted(BudgetDimension.TOKENS, 5, 10, Duration.ZERO);
    assertThat(kinds()).isEmpty();
  }

  @Test
  void emptyBucketWithoutWaiters_raisesNoAlert() {
    assertThat(kinds(0, 0, 0)).isEmpty();
    assertThat(kinds(0, -5, 0)).isEmpty();
    // Those in line wait for something else.
    assertThat(kinds(3, 0, 0)).isEmpty();
  }

  @Test
  void requestsOfTheModel_raise_withTheirFigures() {
    List<AlertMonitor.Change> raised =
        exhausted(BudgetDimension.REQUESTS, 150_000, 1, Duration.ofSeconds(7));
    assertThat(monitor.alerts().get(0).value()).isZero();
    assertThat(monitor.alerts().get(0).threshold()).isEqualTo(1);
    assertThat(raised)
        .singleElement()
        .extracting(AlertMonitor.Change::line)
        .asString()
        .startsWith(
            "Bucket exhausted of m: 0 requests left, the first waiting request needs 1: too few for"
                + " 7000 ms: Emergency refill");
  }

  @Test
  void oldRejections_areForgotten() {
    asked(20, 10, 0);
    asked(20, 0, 30 * SECOND);
    assertThat(kinds(0, 1, 59 * SECOND))
        .containsExactly(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE);
    assertThat(kinds(0, 1, 60 * SECOND)).isEmpty();
    asked(1, 1, 89 * SECOND);
    // 1 of 21 is less than 5 %, and 1 of 1 is too few to tell.
    assertThat(kinds(0, 1, 89 * SECOND)).isEmpty();
    assertThat(kinds(0, 1, 90 * SECOND)).isEmpty();
    asked(20, 2, 300 * SECOND);
    assertThat(kinds(0, 1, 300 * SECOND))
        .containsExactly(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE);
  }

  @Test
  void alert_keepsItsStart_andIsReportedWhenRaisedAndCleared() {
    asked(40, 3, 0);
    GovernorStatus.Exhaustion head =
        new GovernorStatus.Exhaustion(BudgetDimension.TOKENS, 40, Duration.ofSeconds(9));
    List<AlertMonitor.Change> raised = monitor.check(status(250, 0, Optional.of(head)), 0, AT);
    GovernorStatus.Alert rejections =
        new GovernorStatus.Alert(
            "m",
            GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE,
            0.075,
            0.05,
            "Scale model capacity",
            AT);
    GovernorStatus.Alert line =
        new GovernorStatus.Alert(
            "m", GovernorStatus.Alert.Kind.QUEUE_BUILDUP, 250, 100, "Increase refill rate", AT);
    GovernorStatus.Alert exhausted =
        new GovernorStatus.Alert(
            "m",
            GovernorStatus.Alert.Kind.BUCKET_EXHAUSTED,
            0,
            40,
            "Emergency refill: an operator's decision, by a reload with a larger budget",
            AT);
    assertThat(monitor.alerts()).containsExactly(rejections, line, exhausted);
    assertThat(raised)
        .containsExactly(
            new AlertMonitor.Change(
                rejections,
                true,
                "High rejection rate of m: 7.50% of 40 requests in 60000 ms, threshold 5.00%:"
                    + " Scale model capacity"),
            new AlertMonitor.Change(
                line,
                true,
                "Queue buildup of m: 250 requests, threshold 100: Increase refill rate"),
            new AlertMonitor.Change(
                exhausted,
                true,
                "Bucket exhausted of m: 0 tokens left, the first waiting request needs 40: too few for"
                    + " 9000 ms: Emergency refill: an operator's decision, by a reload with a larger"
                    + " budget"));
    assertThat(check(120, 7, 5 * SECOND, AT.plusSeconds(5)))
        .containsExactly(
            new AlertMonitor.Change(
                exhausted,
                false,
                "Bucket exhausted of m is over, it started at 2026-01-02T03:04:05Z: 7 tokens left"));
    assertThat(monitor.alerts())
        .containsExactly(
            rejections, new GovernorStatus.Alert("m", line.kind(), 120, 100, line.advice(), AT));
    assertThat(check(0, 7, 60 * SECOND, AT.plusSeconds(60))).hasSize(2);
    assertThat(monitor.alerts()).isEmpty();
    check(101, 7, 65 * SECOND, AT.plusSeconds(65));
    assertThat(monitor.alerts().get(0).since()).isEqualTo(AT.plusSeconds(65));
  }

  @Test
  void reload_appliesTheNewThresholds() {
    asked(10, 1, 0);
    monitor.reload(
        AlertConfig.builder()
            .interval(Duration.ofSeconds(5))
            .window(Duration.ofSeconds(60))
            .rejectionThreshold(0.05)
            .minRequests(10)
            .maxWaiting(9)
            .build(),
        0);
    assertThat(kinds(10, 1, 0))
        .containsExactly(
            GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE, GovernorStatus.Alert.Kind.QUEUE_BUILDUP);
    monitor.reload(
        AlertConfig.builder()
            .interval(Duration.ofSeconds(5))
            .window(Duration.ofSeconds(30))
            .rejectionThreshold(0.05)
            .minRequests(10)
            .maxWaiting(9)
            .build(),
        0);
    assertThat(kinds(0, 1, 0)).isEmpty();
    asked(10, 1, 0);
    assertThat(kinds(0, 1, 29 * SECOND))
        .containsExactly(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE);
    assertThat(kinds(0, 1, 30 * SECOND)).isEmpty();
  }
}
