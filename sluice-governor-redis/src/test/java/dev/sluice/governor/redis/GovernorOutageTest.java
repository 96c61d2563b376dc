package dev.sluice.governor.redis;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.sluice.governor.AlertConfig;
import dev.sluice.governor.BudgetConfig;
import dev.sluice.governor.Governor;
import dev.sluice.governor.ModelBudget;
import dev.sluice.governor.ProviderResponse;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.testkit.Await;
import dev.sluice.testkit.load.SeedBudget;
import dev.sluice.testkit.redis.RedisServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** A governor in an outage: monitoring continues, and its log has few lines. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class GovernorOutageTest {
  private static final ModelBudget BUDGET = SeedBudget.budget(60_000, 1_000).build();

  /** Health is checked every 100 ms, and alerts are only about waiting lists. */
  private static final BudgetConfig CONFIG =
      BudgetConfig.builder()
          .models(Map.of("sonnet", BUDGET, "haiku", BUDGET))
          .alerts(
              AlertConfig.builder()
                  .interval(Duration.ofMillis(100))
                  .window(Duration.ofSeconds(60))
                  .rejectionThreshold(1)
                  .minRequests(20)
                  .maxWaiting(100)
                  .build())
          .routes(Map.of("any", List.of("sonnet", "haiku")))
          .build();

  private static final TokenRequest ONE =
      TokenRequest.of("sonnet", 1).withPriorityClass("P1_user").withIdempotencyKey("one");

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Logger logger = (Logger) LoggerFactory.getLogger("dev.sluice.governor");

  @BeforeEach
  void listen() {
    logged.start();
    logger.addAppender(logged);
    logger.setLevel(Level.INFO);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(logged);
    logger.setLevel(null);
  }

  @Test
  void monitoringFeedbackAndRoutes_continueInAnOutage_withFewLogLines() {
    try (RedisServer redis = RedisServer.builder().data().start();
        Governor governor =
            Governor.builder(CONFIG).store(RedisBudgets.connect(redis.uri())).build()) {
      assertThat(
              governor
                  .blocking()
                  .request(TokenRequest.of("any", 1_000).withPriorityClass("P1_user")))
          .isInstanceOf(TokenDecision.Granted.class);
      // The first node of a fleet has no share before.
      Await.during(Duration.ofSeconds(2));
      redis.kill();
      Await.until("the loss", () -> isLogged("outage started"));
      TokenDecision refused =
          governor.blocking().request(TokenRequest.of("any", 1_000).withPriorityClass("P1_user"));
      assertThat(((TokenDecision.Denied) refused).reason())
          .isEqualTo(TokenDecision.Reason.UNAVAILABLE);
      governor
          .blocking()
          .feedback("sonnet", new ProviderResponse(429, Map.of("retry-after", "60")));
      assertThat(governor.blocking().status().models().get("sonnet").targetTpm()).isEqualTo(60_000);
      assertThat(governor.blocking().status().models().get("sonnet").provider().factor())
          .isEqualTo(0.9);
      // Until then this node counts as present in Redis, and grants nothing by itself.
      Await.during(Duration.ofMillis(2_500));
      // The other model of the route is not paused.
      TokenDecision.Granted granted =
          (TokenDecision.Granted)
              governor.blocking().request(TokenRequest.of("any", 100).withPriorityClass("P1_user"));
      assertThat(granted.model()).isEqualTo("haiku");
      redis.restart();
      Await.until("the return", () -> isLogged("outage ended"));
      assertThat(governor.blocking().settle(granted.reservation(), 100)).isPresent();
      // A call may be late on a busy machine.
      Await.until(
          "a place in the waiting list",
          () -> governor.blocking().request(ONE) instanceof TokenDecision.Queued);
      TokenDecision.Queued queued = (TokenDecision.Queued) governor.blocking().request(ONE);
      assertThat(queued.retryAfter().orElseThrow().toMillis()).isGreaterThan(30_000);
    }
    assertThat(logged.list).allMatch(event -> event.getThrowableProxy() == null);
    assertThat(logged.list.stream().map(ILoggingEvent::getFormattedMessage))
        .filteredOn(line -> line.contains("outage"))
        .hasSize(2);
    assertThat(logged.list.stream().map(ILoggingEvent::getFormattedMessage))
        .noneMatch(line -> line.contains("unknown"));
  }

  private boolean isLogged(String text) {
    return List.copyOf(logged.list).stream()
        .anyMatch(event -> event.getFormattedMessage().contains(text));
  }
}
