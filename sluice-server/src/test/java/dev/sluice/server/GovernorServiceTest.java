package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.BudgetDimension;
import dev.sluice.proto.v1.CancelTicketRequest;
import dev.sluice.proto.v1.ExplainTokensRequest;
import dev.sluice.proto.v1.ExtendReservationRequest;
import dev.sluice.proto.v1.GetGovernorStatusRequest;
import dev.sluice.proto.v1.GovernorStatus;
import dev.sluice.proto.v1.PollTicketRequest;
import dev.sluice.proto.v1.PollTicketResponse;
import dev.sluice.proto.v1.ReloadBudgetsRequest;
import dev.sluice.proto.v1.ReportFeedbackRequest;
import dev.sluice.proto.v1.SettleReservationRequest;
import dev.sluice.proto.v1.TokenDecision;
import dev.sluice.proto.v1.TokenDecision.DecisionCase;
import dev.sluice.proto.v1.TokenExplanation;
import dev.sluice.proto.v1.TokenRequest;
import dev.sluice.proto.v1.TokenSettlement;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import io.grpc.Context;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The governor over gRPC. */
@Tag("any-jdk")
@Timeout(60)
class GovernorServiceTest {
  @TempDir Path dir;
  private GovernedServer server;

  @BeforeEach
  void start() throws IOException {
    server = started(300);
  }

  /** Starts the server; overridden to keep budgets in another store. */
  GovernedServer started(long patienceMs) throws IOException {
    return new GovernedServer(dir, patienceMs);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private TokenDecision.Granted takeTheOne() {
    TokenDecision outcome = server.requestGrpc("one", 10);
    assertThat(outcome.getDecisionCase()).isEqualTo(DecisionCase.GRANTED);
    return outcome.getGranted();
  }

  private String ticket(String model, long tokens) {
    TokenDecision outcome = server.requestGrpc(model, tokens);
    assertThat(outcome.getDecisionCase()).isEqualTo(DecisionCase.QUEUED);
    return outcome.getQueued().getTicket();
  }

  private TokenSettlement settle(String reservation, long actual) {
    return server
        .grpc()
        .settleReservation(
            SettleReservationRequest.newBuilder()
                .setReservation(reservation)
                .setActualTokens(actual)
                .build())
        .getSettlement();
  }

  private static PollTicketRequest poll(String ticket, long waitMs) {
    return PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(waitMs).build();
  }

  private void awaitWaiting(int calls) {
    await().until(() -> server.server.ticketWaits() == calls);
  }

  private GovernorStatus.Model status(String model) {
    return server
        .grpc()
        .getGovernorStatus(GetGovernorStatusRequest.getDefaultInstance())
        .getStatus()
        .getModelsList()
        .stream()
        .filter(each -> each.getModel().equals(model))
        .findAny()
        .orElseThrow();
  }

  @Test
  void request_isGrantedQueuedOrRefused_withEveryField() {
    TokenDecision.Granted granted = server.requestGrpc("scaled", 3_000).getGranted();
    assertThat(granted)
        .isEqualTo(
            TokenDecision.Granted.newBuilder()
                .setModel("scaled")
                .setPriority("P1_user")
                .setTokens(2_100)
                .setRequestedTokens(3_000)
                .setRemaining(297_900)
                .setReservation(granted.getReservation())
                .build());
    takeTheOne();
    TokenDecision.Queued queued = server.requestGrpc("one", 20).getQueued();
    assertThat(queued.getModel()).isEqualTo("one");
    assertThat(queued.getPriority()).isEqualTo("P1_user");
    assertThat(queued.getTokens()).isEqualTo(20);
    assertThat(queued.getRemaining()).isPositive();
    assertThat(queued.getQueuePosition()).isEqualTo(1);
    assertThat(queued.getBinding()).isEqualTo(BudgetDimension.BUDGET_DIMENSION_CONCURRENCY);
    assertThat(queued.hasWaitMs()).isFalse();
    assertThat(queued.hasEtaMs()).isFalse();
    assertThat(queued.getTicket()).isNotEmpty();
    TokenDecision.Impossible impossible = server.requestGrpc("slow", 1_001).getImpossible();
    assertThat(impossible.getMessage()).contains("1000", "1001");
    assertThat(impossible.getRemaining()).isEqualTo(1_000);
  }

  @Test
  void poll_waitsUntilItIsGranted() throws Exception {
    String reservation = takeTheOne().getReservation();
    String ticket = ticket("one", 20);
    assertThat(server.grpc().pollTicket(poll(ticket, 0)).getDecision().hasQueued()).isTrue();
    assertThat(server.grpc().pollTicket(poll(ticket, 50)).getDecision().hasQueued()).isTrue();
    Recorded<PollTicketResponse> waiting = new Recorded<>();
    server.streams().pollTicket(poll(ticket, 60_000), waiting);
    awaitWaiting(1);
    settle(reservation, 5);
    TokenDecision granted = waiting.next().getDecision();
    assertThat(granted.getGranted().getTokens()).isEqualTo(20);
    assertThat(server.grpc().pollTicket(poll(ticket, 0)).getDecision()).isEqualTo(granted);
    awaitWaiting(0);
  }

  @Test
  void canceledPoll_leavesTheTicketToItsIdleTimeout() throws Exception {
    takeTheOne();
    String ticket = ticket("one", 20);
    Recorded<PollTicketResponse> waiting = new Recorded<>();
    try (Context.CancellableContext call = Context.current().withCancellation()) {
      call.run(() -> server.streams().pollTicket(poll(ticket, 60_000), waiting));
      awaitWaiting(1);
    }
    assertThat(waiting.end().getCode()).isEqualTo(Status.Code.CANCELLED);
    awaitWaiting(0);
    await().until(() -> status("one").getQueueLengths(1).getLength() == 0);
    // For a while a poll returns the reason; then the ticket is unknown.
    await()
        .untilAsserted(
            () ->
                TestServer.assertRefused(
                    () -> server.grpc().pollTicket(poll(ticket, 0)),
                    Status.Code.NOT_FOUND,
                    "ticket"));
  }

  @Test
  void watch_sendsThePosition_thenTheGrant_andEnds() throws Exception {
    String reservation = takeTheOne().getReservation();
    Recorded<PollTicketResponse> before = new Recorded<>();
    String first = ticket("one", 10);
    server.streams().pollTicket(poll(first, 60_000), before);
    Recorded<WatchTicketResponse> watch = new Recorded<>();
    server
        .streams()
        .watchTicket(WatchTicketRequest.newBuilder().setTicket(ticket("one", 20)).build(), watch);
    assertThat(watch.next().getDecision().getQueued().getQueuePosition()).isEqualTo(2);
    assertThat(server.server.openStreams()).isEqualTo(1);
    server.grpc().cancelTicket(CancelTicketRequest.newBuilder().setTicket(first).build());
    assertThat(before.next().getDecision().getDenied().getReason())
        .isEqualTo(TokenDecision.Reason.CANCELLED);
    assertThat(watch.next().getDecision().getQueued().getQueuePosition()).isEqualTo(1);
    settle(reservation, 5);
    assertThat(watch.next().getDecision().getGranted().getTokens()).isEqualTo(20);
    assertThat(watch.end().isOk()).isTrue();
    awaitWaiting(0);
    assertThat(server.server.openStreams()).isZero();
  }

  @Test
  void canceledWatch_leavesTheTicketToItsIdleTimeout() throws Exception {
    takeTheOne();
    String ticket = ticket("one", 20);
    Recorded<WatchTicketResponse> watch = new Recorded<>();
    try (Context.CancellableContext call = Context.current().withCancellation()) {
      call.run(
          () ->
              server
                  .streams()
                  .watchTicket(WatchTicketRequest.newBuilder().setTicket(ticket).build(), watch));
      assertThat(watch.next().getDecision().hasQueued()).isTrue();
    }
    awaitWaiting(0);
    await().until(() -> status("one").getQueueLengths(1).getLength() == 0);
    assertThat(server.server.openStreams()).isZero();
  }

  @Test
  void closing_endsPollsAndWatches() throws Exception {
    takeTheOne();
    Recorded<PollTicketResponse> waiting = new Recorded<>();
    server.streams().pollTicket(poll(ticket("one", 20), 60_000), waiting);
    Recorded<WatchTicketResponse> watch = new Recorded<>();
    server
        .streams()
        .watchTicket(WatchTicketRequest.newBuilder().setTicket(ticket("one", 1)).build(), watch);
    awaitWaiting(2);
    server.server.close();
    assertThat(waiting.end().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(watch.end().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
  }

  @Test
  void settle_chargesOnce_andUnknownIdsAreNotFound() {
    String reservation = server.requestGrpc("slow", 600).getGranted().getReservation();
    ExtendReservationRequest extend =
        ExtendReservationRequest.newBuilder().setReservation(reservation).build();
    assertThat(server.grpc().extendReservation(extend)).isNotNull();
    assertThat(settle(reservation, 700))
        .isEqualTo(
            TokenSettlement.newBuilder()
                .setModel("slow")
                .setRequestedTokens(600)
                .setReservedTokens(600)
                .setActualTokens(700)
                .setOverusedTokens(100)
                .build());
    TestServer.assertRefused(() -> settle(reservation, 700), Status.Code.NOT_FOUND, "reservation");
    TestServer.assertRefused(
        () -> server.grpc().extendReservation(extend), Status.Code.NOT_FOUND, "reservation");
    TestServer.assertRefused(
        () -> server.grpc().cancelTicket(CancelTicketRequest.newBuilder().setTicket("x").build()),
        Status.Code.NOT_FOUND,
        "ticket");
    TestServer.assertRefused(
        () -> server.grpc().pollTicket(poll("x", 1_000)), Status.Code.NOT_FOUND, "ticket");
    TestServer.assertRefused(
        () -> server.grpc().pollTicket(poll("x", 60_001)),
        Status.Code.INVALID_ARGUMENT,
        "waitMs must be from 0 to 60000");
  }

  @Test
  void explain_predictsTheDecision() {
    server.requestGrpc("slow", 950);
    TokenExplanation explanation =
        server
            .grpc()
            .explainTokens(
                ExplainTokensRequest.newBuilder()
                    .setRequest(TokenRequest.newBuilder().setModel("slow").setTokens(500))
                    .build())
            .getExplanation();
    assertThat(explanation.getOutcome()).isEqualTo(TokenExplanation.Outcome.QUEUED);
    assertThat(explanation.getBinding()).isEqualTo(BudgetDimension.BUDGET_DIMENSION_TOKENS);
    assertThat(explanation.getQueuePosition()).isEqualTo(1);
    assertThat(explanation.getDimensions(0).getNeeded()).isEqualTo(500);
    assertThat(explanation.getDimensions(0).getCapacity()).isEqualTo(1_000);
    assertThat(explanation.getMessage()).isNotEmpty();
    assertThat(status("slow").getQueueLengths(1).getLength()).isZero();
  }

  @Test
  void reportedProviderResponse_delaysRequests() {
    assertThat(
            server
                .grpc()
                .reportFeedback(
                    ReportFeedbackRequest.newBuilder()
                        .setModel("scaled")
                        .setStatus(429)
                        .putHeaders("retry-after", "90")
                        .build()))
        .isNotNull();
    assertThat(server.requestGrpc("scaled", 100).getQueued().getBinding())
        .isEqualTo(BudgetDimension.BUDGET_DIMENSION_PROVIDER);
    assertThat(status("scaled").getProvider().getThrottled()).isEqualTo(1);
    TestServer.assertRefused(
        () -> server.grpc().reportFeedback(ReportFeedbackRequest.getDefaultInstance()),
        Status.Code.INVALID_ARGUMENT,
        "model");
  }

  @Test
  void status_hasTheFiguresOfTheModel() {
    server.requestGrpc("slow", 790);
    GovernorStatus.Model slow = status("slow");
    assertThat(slow.getCapacity()).isEqualTo(1_000);
    assertThat(slow.getAvailable()).isBetween(210L, 300L);
    assertThat(slow.getUtilizationPct()).matches("7\\d\\.\\d\\d");
    assertThat(slow.getTargetTpm()).isEqualTo(60);
    assertThat(slow.getRefillRate()).isEqualTo(1);
    assertThat(slow.getLastRefillMs()).isPositive();
    assertThat(slow.getQueueLengthsList())
        .extracting(GovernorStatus.QueueLength::getPriority)
        .containsExactly("P0_clinical", "P1_user", "P2_batch");
    assertThat(slow.getRunning()).isEqualTo(1);
    assertThat(slow.getMetrics().getTotalRequests()).isEqualTo(1);
    assertThat(slow.getMetrics().getTokensConsumed()).isEqualTo(790);
    assertThat(slow.getProvider().getFactor()).isEqualTo(1);
  }

  @Test
  void reload_readsTheFile() throws IOException {
    String good = Files.readString(server.file);
    Files.writeString(server.file, good.replace("\"burst_tpm\": 1000,", "\"burst_tpm\": 2000,"));
    ReloadBudgetsRequest reload = ReloadBudgetsRequest.getDefaultInstance();
    assertThat(server.grpc().reloadBudgets(reload).getIgnoredKeysList())
        .containsExactly("models.scaled.retry_max");
    assertThat(status("slow").getCapacity()).isEqualTo(2_000);
    Files.writeString(server.file, "{");
    TestServer.assertRefused(
        () -> server.grpc().reloadBudgets(reload), Status.Code.FAILED_PRECONDITION, "JSON");
    assertThat(status("slow").getCapacity()).isEqualTo(2_000);
  }
}
