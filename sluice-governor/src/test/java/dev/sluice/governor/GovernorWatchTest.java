package dev.sluice.governor;

import static dev.sluice.governor.WaitingListFixture.MINUTE;
import static dev.sluice.governor.WaitingListFixture.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.sluice.governor.internal.monitor.GovernorMonitor;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class GovernorWatchTest {
  private static final Instant AT = Instant.parse("2026-01-02T03:04:05Z");
  private static final ModelBudget BUDGET = SeedBudget.budget(600, 1_000).build();
  private static final GovernorStatus.Provider PROVIDER = new GovernorStatus.Provider(0.8, 3, 2);

  private final Logger logger = (Logger) LoggerFactory.getLogger(GovernorMonitor.class);
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final VirtualTimer timer = new VirtualTimer();
  private final GovernorMonitor watch =
      new GovernorMonitor(
          BudgetConfig.builder().models(Map.of("m", BUDGET, "n", BUDGET)).build(), timer);

  @BeforeEach
  void listen() {
    logger.setAdditive(false);
    logger.setLevel(Level.INFO);
    logged.start();
    logger.addAppender(logged);
  }

  @AfterEach
  void listenNoMore() {
    logger.detachAppender(logged);
    logger.setLevel(null);
    logger.setAdditive(true);
  }

  private List<String> lines() {
    return logged.list.stream()
        .map(each -> each.getLevel() + " " + each.getFormattedMessage())
        .toList();
  }

  /** The budget that the store applies. */
  private long burst = 1_000;

  /** The excess that the store reports. */
  private long excess;

  /** Of which the first has waited that long for 10 tokens. */
  private GovernorStatus exhausted(String model, Duration lasts) {
    return status(model, 1, 1, new GovernorStatus.Exhaustion(BudgetDimension.TOKENS, 10, lasts));
  }

  private GovernorStatus status(String model, long available, int waiting) {
    return status(model, available, waiting, null);
  }

  private GovernorStatus status(
      String model, long available, int waiting, GovernorStatus.@Nullable Exhaustion head) {
    return new GovernorStatus(
        Map.of(
            model,
            new GovernorStatus.Model(
                model,
                burst,
                available,
                600,
                AT,
                Map.of("P1_user", waiting - waiting / 2, "P2_batch", waiting / 2),
                0,
                new GovernorStatus.Counts(0, 0, 0, 0, 0),
                new GovernorStatus.Audit(0, 0, excess, 0, 0),
                PROVIDER,
                Optional.ofNullable(head),
                List.of())),
        Map.of(),
        AT);
  }

  private GovernorStatus.Model watched(String model) {
    return watch.watched(status(model, 1, 0)).models().get(model);
  }

  private void grant(String model, long tokens, long waited) {
    TokenRequest request = TokenRequest.of(model, tokens).withPriorityClass("P1_user");
    watch.listener().granted(request, tokens, waited, timer.nanoTime());
  }

  @Test
  void audit_remembersTheExcessOfAStoreThatLostIt() {
    excess = 70;
    watch.check(status("m", 1, 0));
    excess = 0;
    assertThat(watched("m").audit().errorTokens()).isEqualTo(70);
    assertThat(watched("n").audit().errorTokens()).isZero();
  }

  @Test
  void audit_countsGrantsLessRefundsByModel() {
    grant("m", 700, 0);
    grant("n", 1_100, 0);
    grant("unknown", 5, 0);
    watch
        .listener()
        .settled(
            new TokenSettlement("m", "", 700, 700, 500, 200, 0, 0),
            timer.nanoTime(),
            timer.nanoTime());
    watch
        .listener()
        .settled(
            new TokenSettlement("m", "", 700, 700, 900, 0, 200, 0),
            timer.nanoTime(),
            timer.nanoTime());
    assertThat(watched("m").audit()).isEqualTo(new GovernorStatus.Audit(500, 1_600, 0, 500, 0));
    assertThat(watched("n").audit())
        .isEqualTo(new GovernorStatus.Audit(1_100, 1_600, 100, 1_100, 0));
    assertThat(watched("m").provider()).isEqualTo(PROVIDER);
    assertThat(watched("unknown").audit()).isEqualTo(new GovernorStatus.Audit(0, 0, 0, 0, 0));
  }

  @Test
  void alerts_areLoggedOnce_andReportedUntilTheyClear() {
    watch.check(status("m", 1, 101));
    watch.check(status("m", 1, 102));
    assertThat(watched("m").alerts())
        .containsExactly(
            new GovernorStatus.Alert(
                "m",
                GovernorStatus.Alert.Kind.QUEUE_BUILDUP,
                102,
                100,
                "Increase refill rate",
                AT));
    assertThat(watched("n").alerts()).isEmpty();
    watch.check(status("m", 1, 100));
    assertThat(watched("m").alerts()).isEmpty();
    assertThat(lines())
        .containsExactly(
            "WARN Queue buildup of m: 101 requests, threshold 100: Increase refill rate",
            "INFO Queue buildup of m is over, it started at 2026-01-02T03:04:05Z:"
                + " 100 requests, threshold 100");
  }

  @Test
  void requestsNotGrantedAtOnce_areRejections() {
    TokenRequest request = TokenRequest.of("m", 1).withPriorityClass("P1_user");
    TokenDecision granted = new TokenDecision.Granted("m", "P1_user", 1, 1, 1, "r");
    Optional<Duration> soon = Optional.of(Duration.ofMillis(1));
    TokenDecision queued =
        new TokenDecision.Queued("m", "P1_user", 1, 0, soon, 1, soon, BudgetDimension.TOKENS, "t");
    TokenDecision refused =
        new TokenDecision.Denied(
            "m", "P1_user", 1, 0, TokenDecision.Reason.TOO_MANY_WAITERS, "full");
    for (int i = 0; i < 18; i++) {
      watch.listener().requested(request, granted, 0);
    }
    watch.listener().requested(request, queued, 0);
    watch.listener().requested(request, refused, 0);
    watch.check(status("m", 1, 0));
    assertThat(watched("m").alerts()).extracting(GovernorStatus.Alert::value).containsExactly(0.1);
  }

  @Test
  void intervals_areThoseOfTheConfiguration() {
    watch.start(() -> CompletableFuture.completedFuture(exhausted("m", Duration.ofSeconds(5))));
    watch.listener().refilled("m", 10, 110, 0);
    grant("m", 5, 1);
    grant("m", 5, 0);
    timer.advance(5 * SECOND - 1);
    assertThat(lines()).isEmpty();
    timer.advance(1);
    assertThat(lines()).singleElement().asString().startsWith("WARN Bucket exhausted of m");
    timer.advance(MINUTE - 5 * SECOND - 1);
    assertThat(lines()).hasSize(1);
    timer.advance(1);
    assertThat(lines().subList(1, lines().size()))
        .containsExactly(
            "INFO Refilled m: +10 tokens (100 → 110)", "INFO Processed 1 jobs from P1_user queue");
    assertThat(logged.list.get(2).getKeyValuePairs()).hasToString("[model=\"m\"]");
    watch.listener().refilled("m", 1, 1, 0);
    timer.advance(MINUTE - 1);
    assertThat(lines()).hasSize(3);
    timer.advance(1);
    assertThat(lines()).hasSize(4);
    watch.listener().refilled("m", 1, 1, 0);
    watch.close();
    timer.advance(10 * MINUTE);
    assertThat(lines()).hasSize(4);
  }

  @Test
  void failedStatus_isLoggedAndRetried() {
    int[] calls = {0};
    watch.start(
        () -> {
          if (calls[0]++ == 0) {
            throw new IllegalStateException("broken");
          }
          return calls[0] == 2
              ? CompletableFuture.failedFuture(new IllegalStateException("broken"))
              : CompletableFuture.completedFuture(exhausted("m", Duration.ofSeconds(5)));
        });
    timer.advance(15 * SECOND);
    assertThat(lines()).hasSize(3);
    assertThat(lines().subList(0, 2)).containsOnly("WARN The health of the models is unknown");
    assertThat(watched("m").alerts()).hasSize(1);
  }

  @Test
  void reload_appliesTheNewConfiguration() {
    grant("m", 1_000, 0);
    grant("n", 1_000, 0);
    AlertConfig config =
        AlertConfig.builder()
            .interval(Duration.ofSeconds(1))
            .window(Duration.ofSeconds(9))
            .rejectionThreshold(0)
            .minRequests(1)
            .maxWaiting(0)
            .build();
    ModelBudget larger = SeedBudget.budget(600, 2_000).build();
    watch.reload(
        BudgetConfig.builder().models(Map.of("m", larger, "o", BUDGET)).alerts(config).build());
    grant("m", 1_000, 0);
    grant("o", 1_000, 0);
    burst = 2_000;
    assertThat(watched("m").audit()).isEqualTo(new GovernorStatus.Audit(2_000, 2_600, 0, 2_000, 0));
    burst = 1_000;
    assertThat(watched("n").audit()).isEqualTo(new GovernorStatus.Audit(0, 0, 0, 0, 0));
    assertThat(watched("o").audit()).isEqualTo(new GovernorStatus.Audit(1_000, 1_600, 0, 1_000, 0));
    watch.check(status("m", 1, 1));
    assertThat(watched("m").alerts()).hasSize(1);
  }

  @Test
  void audit_ofAStoreThatOthersHaveChanged_isNoAlarm() {
    grant("m", 1_900, 0);
    burst = 2_000;
    watch.check(status("m", 1, 1));
    assertThat(watched("m").audit()).isEqualTo(new GovernorStatus.Audit(1_900, 2_600, 0, 1_900, 0));
    grant("m", 101, 0);
    assertThat(watched("m").audit()).isEqualTo(new GovernorStatus.Audit(2_001, 2_600, 1, 2_001, 0));
  }

  /** The original's was of all time: one bad hour was an alert for days. */
  @Test
  void rejectionRate_coversTheLastMinute() {
    try (Rig rig = new Rig(Allocation.OFF)) {
      rig.granted(300_000, Rig.P0);
      for (int i = 0; i < 30; i++) {
        rig.ask(1_000, Rig.P1);
      }
      rig.timer.advance(10 * SECOND);
      assertThat(rig.governor.blocking().status().alerts())
          .extracting(GovernorStatus.Alert::kind)
          .contains(GovernorStatus.Alert.Kind.HIGH_REJECTION_RATE);
      rig.timer.advance(2 * MINUTE);
      for (int i = 0; i < 30; i++) {
        rig.granted(1_000, Rig.P1);
      }
      rig.timer.advance(10 * SECOND);
      // Half of all requests were rejected, but none of the recent ones.
      assertThat(rig.status().counts().rejectedRequests()).isEqualTo(30);
      assertThat(rig.governor.blocking().status().alerts()).isEmpty();
    }
  }
}
