package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.TokenDecision.Granted;
import dev.sluice.client.TokenDecision.Queued;
import dev.sluice.client.TokenDecision.Reason;
import dev.sluice.server.TestServer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Each call of the governor once, against a real server. */
@Timeout(60)
final class GovernorTest {
  /** Of {@code slow} hardly anything accrues; {@code one} has one request at a time. */
  static final String BUDGETS =
      """
      {"models": {
         "slow": {"target_tpm": 60, "burst_tpm": 1000, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "one": {"target_tpm": 60000, "burst_tpm": 1000000, "concurrency": 1, "allocation": "off",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 1.0, "P2_batch": 1.0}},
         "scaled": {"target_tpm": 240000, "burst_tpm": 300000, "allocation": "scale",
           "priority_classes": {"P0_clinical": 1.0, "P1_user": 0.7, "P2_batch": 0.4}}},
       "governor": {"max_waiting": 3}}
      """;

  @TempDir Path dir;
  private TestServer server;
  private SluiceClient client;
  private GovernorClient governor;

  @BeforeEach
  void start() throws Exception {
    server = TestServer.startGoverned(dir, 0, BUDGETS);
    client = SluiceClient.connect("127.0.0.1", server.grpcPort());
    governor = client.governor();
  }

  @AfterEach
  void stop() {
    client.close();
    server.close();
  }

  private Granted granted(TokenRequest request) {
    TokenDecision outcome = governor.request(request);
    assertThat(outcome.isGranted()).as("%s", outcome).isTrue();
    return (Granted) outcome;
  }

  private GovernorStatus.Model model(String name) {
    return Objects.requireNonNull(governor.status().models().get(name), name);
  }

  @Test
  void request_granted_isSettledOnce() {
    Granted granted = granted(TokenRequest.of("slow", 800).withTenant("acme"));
    assertThat(granted.model()).isEqualTo("slow");
    assertThat(granted.priorityClass()).isEqualTo("P2_batch");
    assertThat(granted.tokens()).isEqualTo(800);
    assertThat(granted.requestedTokens()).isEqualTo(800);
    assertThat(granted.remaining()).isEqualTo(200);
    governor.extend(granted.reservation());
    TokenSettlement settled = governor.settle(granted.reservation(), 300);
    assertThat(settled.model()).isEqualTo("slow");
    assertThat(settled.tenant()).isEqualTo("acme");
    assertThat(settled.requestedTokens()).isEqualTo(800);
    assertThat(settled.reservedTokens()).isEqualTo(800);
    assertThat(settled.actualTokens()).isEqualTo(300);
    // Tokens that accrued meanwhile are not refunded as well.
    assertThat(settled.refundedTokens()).isBetween(490L, 500L);
    assertThat(settled.overusedTokens()).isZero();
    assertFails(Code.NOT_FOUND, () -> governor.settle(granted.reservation(), 300));
    assertFails(Code.NOT_FOUND, () -> governor.extend(granted.reservation()));
  }

  @Test
  void request_ofAClass_reservesLess_andExpectationsOfAFreshTenantDoNot() {
    assertThat(granted(TokenRequest.of("scaled", 10_000).withPriorityClass("P2_batch")))
        .extracting(Granted::priorityClass, Granted::tokens, Granted::requestedTokens)
        .containsExactly("P2_batch", 4_000L, 10_000L);
    assertThat(granted(TokenRequest.of("slow", 900).withExpectedTokens(100)))
        .extracting(Granted::tokens, Granted::requestedTokens)
        .containsExactly(900L, 900L);
  }

  @Test
  void request_repeated_findsItsTicketOrItsGrant() {
    TokenRequest first = TokenRequest.of("one", 10).withIdempotencyKey("a");
    Granted granted = granted(first);
    assertThat(granted(first).reservation()).isEqualTo(granted.reservation());
    TokenRequest second = TokenRequest.of("one", 20).withIdempotencyKey("b");
    Queued queued = (Queued) governor.request(second);
    assertThat(((Queued) governor.request(second)).ticket()).isEqualTo(queued.ticket());
    assertFails(
            Code.INVALID_ARGUMENT,
            () -> governor.request(TokenRequest.of("one", 30).withIdempotencyKey("b")))
        .contains("idempotency key b");
  }

  @Test
  void queued_reportsPositionAndBinding_untilItIsCanceled() {
    Granted granted = granted(TokenRequest.of("slow", 1_000));
    assertThat(granted.remaining()).isZero();
    Queued queued =
        (Queued) governor.request(TokenRequest.of("slow", 120).withPriorityClass("P1_user"));
    assertThat(queued.isGranted()).isFalse();
    assertThat(queued.queuePosition()).isEqualTo(1);
    assertThat(queued.tokens()).isEqualTo(120);
    assertThat(queued.binding()).isEqualTo(BudgetDimension.TOKENS);
    assertThat(queued.retryAfter()).isEqualTo(queued.eta());
    assertThat(queued.eta().orElseThrow())
        .isBetween(Duration.ofSeconds(60), Duration.ofSeconds(120));
    Queued behind =
        (Queued) governor.request(TokenRequest.of("slow", 1).withPriorityClass("P2_batch"));
    assertThat(behind.queuePosition()).isEqualTo(2);
    assertThat(governor.poll(queued.ticket())).isInstanceOf(Queued.class);
    assertThat(governor.pollAsync(queued.ticket(), Duration.ofMillis(5)).join())
        .isInstanceOf(Queued.class);
    assertThat(model("slow").queueLengths())
        .containsExactly(
            Map.entry("P0_clinical", 0), Map.entry("P1_user", 1), Map.entry("P2_batch", 1));
    governor.cancel(queued.ticket());
    assertFails(Code.NOT_FOUND, () -> governor.poll(queued.ticket())).contains(queued.ticket());
    assertFails(Code.NOT_FOUND, () -> governor.cancel(queued.ticket()));
  }

  @Test
  void refused_reportsTheReason() {
    TokenDecision.Impossible never =
        (TokenDecision.Impossible) governor.request(TokenRequest.of("slow", 1_001));
    assertThat(never.message()).contains("1001", "1000");
    assertThat(never.remaining()).isEqualTo(1_000);
    granted(TokenRequest.of("one", 1));
    for (int i = 0; i < 3; i++) {
      assertThat(governor.request(TokenRequest.of("one", 1))).isInstanceOf(Queued.class);
    }
    TokenDecision.Denied full = (TokenDecision.Denied) governor.request(TokenRequest.of("one", 1));
    assertThat(full.reason()).isEqualTo(Reason.TOO_MANY_WAITERS);
  }

  @Test
  void badInput_namesTheRule() {
    assertFails(Code.INVALID_ARGUMENT, () -> governor.request(TokenRequest.of("nobody", 1)))
        .contains("nobody");
    assertFails(
            Code.INVALID_ARGUMENT,
            () -> governor.request(TokenRequest.of("slow", 1).withPriorityClass("P9")))
        .contains("P9");
    assertFails(Code.INVALID_ARGUMENT, () -> governor.settle("r", -1)).contains("-1");
    assertFails(Code.NOT_FOUND, () -> governor.poll("nothing"));
    assertThatThrownBy(() -> TokenRequest.of("slow", 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("tokens must be positive, but was 0");
    assertThatThrownBy(() -> TokenRequest.of("slow", 1).withMaxWait(Duration.ZERO))
        .hasMessage("maxWait in milliseconds must be positive, but was 0");
  }

  @Test
  void explain_predictsTheDecisionAndTakesNothing() {
    TokenExplanation now = governor.explain(TokenRequest.of("slow", 600));
    assertThat(now.outcome()).isEqualTo(TokenExplanation.Outcome.GRANTED);
    assertThat(now.queuePosition()).isZero();
    assertThat(model("slow").available()).isEqualTo(1_000);
    granted(TokenRequest.of("slow", 600));
    TokenExplanation later = governor.explain(TokenRequest.of("slow", 600));
    assertThat(later.outcome()).isEqualTo(TokenExplanation.Outcome.QUEUED);
    assertThat(later.binding()).isEqualTo(BudgetDimension.TOKENS);
    assertThat(later.queuePosition()).isEqualTo(1);
    assertThat(later.eta().orElseThrow())
        .isBetween(Duration.ofSeconds(100), Duration.ofSeconds(200));
    assertThat(later.message()).isNotBlank();
    TokenExplanation.DimensionStatus tokens =
        later.dimensions().stream()
            .filter(part -> part.dimension() == BudgetDimension.TOKENS)
            .findAny()
            .orElseThrow();
    assertThat(tokens.capacity()).isEqualTo(1_000);
    assertThat(tokens.needed()).isEqualTo(600);
    assertThat(tokens.available()).isBetween(400L, 500L);
    assertThat(tokens.retryAfter()).isPresent();
    granted(TokenRequest.of("one", 1));
    TokenExplanation unknown = governor.explain(TokenRequest.of("one", 1));
    assertThat(unknown.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    assertThat(unknown.retryAfter()).isEmpty();
    assertThat(unknown.eta()).isEmpty();
    assertThat(unknown.dimensions())
        .filteredOn(part -> part.dimension() == BudgetDimension.CONCURRENCY)
        .singleElement()
        .satisfies(part -> assertThat(part.retryAfter()).isEmpty());
    TokenExplanation never = governor.explain(TokenRequest.of("slow", 2_000));
    assertThat(never.outcome()).isEqualTo(TokenExplanation.Outcome.IMPOSSIBLE);
    assertThat(never.eta()).isEmpty();
  }

  @Test
  void withoutAFreeSlot_etaIsUnknown() {
    granted(TokenRequest.of("one", 1));
    Queued queued = (Queued) governor.request(TokenRequest.of("one", 1));
    assertThat(queued.binding()).isEqualTo(BudgetDimension.CONCURRENCY);
    assertThat(queued.retryAfter()).isEmpty();
    assertThat(queued.eta()).isEmpty();
  }

  @Test
  void status_countsAndLevels() {
    granted(TokenRequest.of("slow", 900));
    governor.request(TokenRequest.of("slow", 900));
    GovernorStatus status = governor.status();
    assertThat(status.models().keySet()).containsExactly("slow", "one", "scaled");
    GovernorStatus.Model slow = Objects.requireNonNull(status.models().get("slow"));
    assertThat(slow.capacity()).isEqualTo(1_000);
    assertThat(slow.available()).isBetween(100L, 200L);
    assertThat(slow.utilizationPct()).matches("[89][0-9]\\.[0-9]{2}");
    assertThat(slow.targetTpm()).isEqualTo(60);
    assertThat(slow.refillRate()).isEqualTo(1.0);
    assertThat(slow.lastRefill()).isBeforeOrEqualTo(status.timestamp());
    assertThat(slow.running()).isEqualTo(1);
    assertThat(slow.metrics().totalRequests()).isEqualTo(2);
    assertThat(slow.metrics().acceptedRequests()).isEqualTo(1);
    assertThat(slow.metrics().rejectedRequests()).isEqualTo(1);
    assertThat(slow.metrics().tokensConsumed()).isEqualTo(900);
    assertThat(slow.audit().errorTokens()).isZero();
    assertThat(slow.provider().factor()).isEqualTo(1.0);
    assertThat(slow.alerts()).isEmpty();
  }

  @Test
  void feedback_delaysLaterRequests() {
    governor.feedback("scaled", 429, Map.of("Retry-After", "30"));
    Queued queued = (Queued) governor.request(TokenRequest.of("scaled", 100));
    assertThat(queued.binding()).isEqualTo(BudgetDimension.PROVIDER);
    assertThat(model("scaled").provider().throttled()).isEqualTo(1);
    assertFails(Code.INVALID_ARGUMENT, () -> governor.feedback("scaled", 99, Map.of()))
        .contains("99");
    assertFails(Code.INVALID_ARGUMENT, () -> governor.feedback("nobody", 429, Map.of()));
  }

  @Test
  void reload_appliesTheWholeFileOrNothing() throws Exception {
    Path file = dir.resolve("token-budget.json");
    Files.writeString(
        file, "{\"models\":{\"slow\":{\"target_tpm\":60,\"burst_tpm\":500,\"retry_max\":5}}}");
    assertThat(governor.reload()).isEqualTo(List.of("models.slow.retry_max"));
    assertThat(governor.status().models()).hasSize(1);
    Files.writeString(file, "{\"models\":{\"slow\":{\"target_tpm\":-60}}}");
    assertFails(Code.FAILED_PRECONDITION, () -> governor.reload()).contains("target_tpm");
    assertThat(model("slow").capacity()).isEqualTo(500);
  }
}
