package dev.sluice.client;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.internal.Errors;
import dev.sluice.client.internal.GovernorProtoMapper;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.client.internal.TicketPoller;
import dev.sluice.proto.v1.CancelTicketRequest;
import dev.sluice.proto.v1.ExplainTokensRequest;
import dev.sluice.proto.v1.ExtendReservationRequest;
import dev.sluice.proto.v1.GetGovernorStatusRequest;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.PollTicketRequest;
import dev.sluice.proto.v1.ReloadBudgetsRequest;
import dev.sluice.proto.v1.ReportFeedbackRequest;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.SettleReservationRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/**
 * Requests and settles tokens of LLM models; from {@link SluiceClient#governor}. Thread-safe.
 * Blocking and failures are those of {@link SluiceClient}.
 *
 * @since 0.1
 */
public final class GovernorClient {
  private final GrpcConnection connection;

  GovernorClient(GrpcConnection connection) {
    this.connection = connection;
  }

  /** A call of a model. */
  @FunctionalInterface
  public interface ModelCall<T> {
    /**
     * Calls the model and reports the usage to {@link TokenGrant#used}.
     *
     * @param grant the tokens that the call may use
     * @return the result
     * @throws Exception if the call failed
     */
    T make(TokenGrant grant) throws Exception;
  }

  /**
   * Waits for tokens, calls the model, and settles the reservation with the used tokens. Without a
   * report of the usage, all granted tokens count as used, or none if the call throws. If settling
   * fails, the reservation times out on the server and its tokens stay charged.
   *
   * @param request the token request
   * @param call runs on this thread
   * @param <T> the type of the result
   * @return the result of the call
   * @throws SluiceClientException if the tokens are not granted: {@code INVALID_ARGUMENT} if the
   *     request is impossible, {@code DEADLINE_EXCEEDED} after its maximum wait, {@code
   *     RESOURCE_EXHAUSTED} if the waiting list is full, {@code FAILED_PRECONDITION} otherwise
   * @throws Exception the exception of the call
   */
  public <T> T call(TokenRequest request, GovernorClient.ModelCall<T> call) throws Exception {
    TokenDecision decision = acquire(request);
    if (!(decision instanceof TokenDecision.Granted granted)) {
      throw failure(decision);
    }
    TokenGrant grant = new TokenGrant(this, granted);
    long otherwise = 0;
    try {
      T result = call.make(grant);
      otherwise = granted.tokens();
      return result;
    } finally {
      try {
        settle(grant.reservation(), grant.usedOr(otherwise));
      } catch (SluiceClientException timesOut) {
        // The result or the exception of the call matters more than the settlement.
      }
    }
  }

  private static SluiceClientException failure(TokenDecision decision) {
    if (decision instanceof TokenDecision.Impossible impossible) {
      return new SluiceClientException(Code.INVALID_ARGUMENT, impossible.message());
    }
    if (!(decision instanceof TokenDecision.Denied denied)) {
      return new SluiceClientException(Code.INTERNAL, "neither granted nor denied: " + decision);
    }
    Code code =
        switch (denied.reason()) {
          case TIMEOUT -> Code.DEADLINE_EXCEEDED;
          case TOO_MANY_WAITERS -> Code.RESOURCE_EXHAUSTED;
          case ABANDONED, CANCELLED, REMOVED, CLOSED, OTHER -> Code.FAILED_PRECONDITION;
        };
    return new SluiceClientException(code, denied.message());
  }

  /**
   * Requests tokens without waiting for them.
   *
   * @param request the token request
   * @return granted, queued with a ticket, denied or impossible. After {@code UNAVAILABLE} the
   *     request may or may not have been applied; with an idempotency key it can be repeated
   */
  public CompletableFuture<TokenDecision> requestAsync(TokenRequest request) {
    return connection
        .call(
            GovernorGrpc.getRequestTokensMethod(),
            RequestTokensRequest.newBuilder().setRequest(request.toWire()).build())
        .thenApply(response -> GovernorProtoMapper.decision(response.getDecision()));
  }

  /**
   * Requests tokens without waiting for them; blocks until the server answers.
   *
   * @param request the token request
   * @return granted, queued with a ticket, denied or impossible
   */
  public TokenDecision request(TokenRequest request) {
    return connection.await(requestAsync(request));
  }

  /**
   * Requests tokens and waits for them, across lost connections and restarts of the server: the
   * request finds its ticket again, or gets a new one. A request without an idempotency key gets
   * one.
   *
   * @param request the token request; its maximum wait bounds the wait
   * @return granted, denied or impossible; canceling the future cancels the ticket or returns the
   *     grant. It fails if the server cannot be reached before the request has a ticket
   */
  public CompletableFuture<TokenDecision> acquireAsync(TokenRequest request) {
    return TicketPoller.of(connection, request.toWire(), null);
  }

  /**
   * Requests tokens like {@link #acquireAsync(TokenRequest)} and reports the progress about every
   * second.
   *
   * @param request the token request
   * @param progress must not block; an exception ends the wait
   * @return granted, denied or impossible
   */
  public CompletableFuture<TokenDecision> acquireAsync(
      TokenRequest request, Consumer<TokenDecision.Queued> progress) {
    return TicketPoller.of(connection, request.toWire(), progress);
  }

  /**
   * Requests tokens and blocks until the decision. An interrupt cancels the ticket.
   *
   * @param request the token request; its maximum wait bounds the wait
   * @return granted, denied or impossible
   */
  public TokenDecision acquire(TokenRequest request) {
    return joined(acquireAsync(request));
  }

  /**
   * Waits for the decision on a ticket, across lost connections.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return granted, denied or impossible; fails with {@code NOT_FOUND} if the ticket does not
   *     exist, as after a restart of the server. Canceling the future only ends the wait: poll the
   *     ticket soon, or the server removes it
   */
  public CompletableFuture<TokenDecision> awaitAsync(String ticket) {
    return TicketPoller.of(connection, ticket, null);
  }

  /**
   * Waits like {@link #awaitAsync(String)} and reports the progress about every second.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @param progress must not block; an exception ends the wait
   * @return granted, denied or impossible
   */
  public CompletableFuture<TokenDecision> awaitAsync(
      String ticket, Consumer<TokenDecision.Queued> progress) {
    return TicketPoller.of(connection, ticket, progress);
  }

  /**
   * Blocks until the decision on a ticket. An interrupt only ends the wait.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return granted, denied or impossible
   */
  public TokenDecision await(String ticket) {
    return joined(awaitAsync(ticket));
  }

  private static <T> T joined(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (ExecutionException failure) {
      throw Errors.of(failure);
    } catch (InterruptedException now) {
      future.cancel(false);
      throw Errors.interrupted(now);
    }
  }

  /**
   * Returns the state of a ticket as soon as it is decided, or after a time.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @param maxWait at most a minute; whole milliseconds
   * @return the decision; fails with {@code NOT_FOUND} if the ticket does not exist
   */
  public CompletableFuture<TokenDecision> pollAsync(String ticket, Duration maxWait) {
    return connection
        .call(
            GovernorGrpc.getPollTicketMethod(),
            PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(maxWait.toMillis()).build(),
            connection.callTimeout().plus(maxWait.abs()))
        .thenApply(response -> GovernorProtoMapper.decision(response.getDecision()));
  }

  /**
   * Returns the present state of a ticket.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return the decision; fails with {@code NOT_FOUND} if the ticket does not exist
   */
  public TokenDecision poll(String ticket) {
    return connection.await(pollAsync(ticket, Duration.ZERO));
  }

  /**
   * Removes a ticket from the waiting list, or returns its grant.
   *
   * @param ticket of {@link TokenDecision.Queued}; {@code NOT_FOUND} if it does not exist
   */
  public void cancel(String ticket) {
    connection.await(
        GovernorGrpc.getCancelTicketMethod(),
        CancelTicketRequest.newBuilder().setTicket(ticket).build());
  }

  /**
   * Settles a reservation with the used tokens.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens the used tokens; 0 if none
   * @return refunds and charges; fails with {@code NOT_FOUND} if the reservation was settled before
   *     or has timed out
   */
  public CompletableFuture<TokenSettlement> settleAsync(String reservation, long actualTokens) {
    return connection
        .call(
            GovernorGrpc.getSettleReservationMethod(),
            SettleReservationRequest.newBuilder()
                .setReservation(reservation)
                .setActualTokens(actualTokens)
                .build())
        .thenApply(response -> TokenSettlement.of(response.getSettlement()));
  }

  /**
   * Settles a reservation with the used tokens; blocks until the server answers.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens the used tokens; 0 if none
   * @return refunds and charges
   */
  public TokenSettlement settle(String reservation, long actualTokens) {
    return connection.await(settleAsync(reservation, actualTokens));
  }

  /**
   * Restarts the timeout of a reservation, for a call that takes longer.
   *
   * @param reservation of {@link TokenDecision.Granted}; {@code NOT_FOUND} if it has ended
   */
  public void extend(String reservation) {
    connection.await(
        GovernorGrpc.getExtendReservationMethod(),
        ExtendReservationRequest.newBuilder().setReservation(reservation).build());
  }

  /**
   * Predicts the decision on a request without changing anything.
   *
   * @param request the token request
   * @return the predicted decision, with every dimension
   */
  public TokenExplanation explain(TokenRequest request) {
    return GovernorProtoMapper.explanation(
        connection
            .await(
                GovernorGrpc.getExplainTokensMethod(),
                ExplainTokensRequest.newBuilder().setRequest(request.toWire()).build())
            .getExplanation());
  }

  /**
   * Reports the provider's response to a call. Its rate-limit headers can only reduce the budget.
   *
   * @param model the called model
   * @param status the HTTP status
   * @param headers by name, in any case; only rate-limit headers count
   */
  public void feedback(String model, int status, Map<String, String> headers) {
    connection.await(
        GovernorGrpc.getReportFeedbackMethod(),
        ReportFeedbackRequest.newBuilder()
            .setModel(model)
            .setStatus(status)
            .putAllHeaders(headers)
            .build());
  }

  /**
   * Returns the state of the models that the caller may use.
   *
   * @return levels, waiting lists, counters and alerts
   */
  public GovernorStatus status() {
    return GovernorProtoMapper.status(
        connection
            .await(
                GovernorGrpc.getGetGovernorStatusMethod(),
                GetGovernorStatusRequest.getDefaultInstance())
            .getStatus());
  }

  /**
   * Makes the server read its budget file again. An invalid file changes nothing and fails with
   * {@code FAILED_PRECONDITION}.
   *
   * @return the keys of the file that the server ignores
   */
  public List<String> reload() {
    return List.copyOf(
        connection
            .await(GovernorGrpc.getReloadBudgetsMethod(), ReloadBudgetsRequest.getDefaultInstance())
            .getIgnoredKeysList());
  }
}
