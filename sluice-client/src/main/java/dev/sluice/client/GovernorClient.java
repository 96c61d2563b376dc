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
 * Token budgets of LLM models: who may call now, who waits, and for how long; from {@link
 * SluiceClient#governor}. For any number of threads. What blocks and what does not is as for {@link
 * SluiceClient}.
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
     * Calls the model, and says to {@link TokenGrant#used} what that took.
     *
     * @param grant what it may use
     * @return the answer
     * @throws Exception the call failed
     */
    T make(TokenGrant grant) throws Exception;
  }

  /**
   * Waits in line until the tokens are there, calls, and settles with what was used. If the call
   * has not said what that was, it counts as all that was granted, or as nothing if it has thrown.
   * If it cannot be settled, the reservation ends by itself, and its tokens stay charged.
   *
   * @param request what for
   * @param call is made by this thread
   * @param <T> what the call returns
   * @return what the call has returned
   * @throws SluiceClientException if the tokens are refused: {@code INVALID_ARGUMENT} if they are
   *     more than can ever be granted, {@code DEADLINE_EXCEEDED} after the request's deadline,
   *     {@code RESOURCE_EXHAUSTED} if too many are in line, {@code FAILED_PRECONDITION} otherwise
   * @throws Exception what the call has thrown
   */
  public <T> T call(TokenRequest request, GovernorClient.ModelCall<T> call) throws Exception {
    TokenDecision outcome = acquire(request);
    if (!(outcome instanceof TokenDecision.Granted granted)) {
      throw refusal(outcome);
    }
    TokenGrant grant = new TokenGrant(this, granted);
    long otherwise = 0;
    try {
      T answer = call.make(grant);
      otherwise = granted.tokens();
      return answer;
    } finally {
      try {
        settle(grant.reservation(), grant.usedOr(otherwise));
      } catch (SluiceClientException endsByItself) {
        // The answer, or why there is none, is worth more than this.
      }
    }
  }

  private static SluiceClientException refusal(TokenDecision outcome) {
    if (outcome instanceof TokenDecision.Impossible impossible) {
      return new SluiceClientException(Code.INVALID_ARGUMENT, impossible.message());
    }
    if (!(outcome instanceof TokenDecision.Denied refused)) {
      return new SluiceClientException(Code.INTERNAL, "neither granted nor denied: " + outcome);
    }
    Code code =
        switch (refused.reason()) {
          case TIMEOUT -> Code.DEADLINE_EXCEEDED;
          case TOO_MANY_WAITERS -> Code.RESOURCE_EXHAUSTED;
          case ABANDONED, CANCELLED, REMOVED, CLOSED, OTHER -> Code.FAILED_PRECONDITION;
        };
    return new SluiceClientException(code, refused.message());
  }

  /**
   * Asks for tokens and does not wait for them.
   *
   * @param request what for
   * @return {@code UNAVAILABLE} leaves open whether it was granted or put in line; with an
   *     idempotency key it can be asked again
   */
  public CompletableFuture<TokenDecision> requestAsync(TokenRequest request) {
    return connection
        .call(
            GovernorGrpc.getRequestTokensMethod(),
            RequestTokensRequest.newBuilder().setRequest(request.toWire()).build())
        .thenApply(answer -> GovernorProtoMapper.decision(answer.getDecision()));
  }

  /**
   * As {@link #requestAsync}, blocking until the answer is there, not the tokens.
   *
   * @param request what for
   * @return what became of it
   */
  public TokenDecision request(TokenRequest request) {
    return connection.await(requestAsync(request));
  }

  /**
   * Asks for tokens and waits in line for them. A lost connection, or a restart of the server, does
   * not end this: it finds its place again, or a new one. The request has an idempotency key of its
   * own if it is given none.
   *
   * @param request what for; its deadline is how long to wait
   * @return granted or refused; cancelling it leaves the line, or gives back what was granted. It
   *     fails if the server cannot be reached before there is a place in line
   */
  public CompletableFuture<TokenDecision> acquireAsync(TokenRequest request) {
    return TicketPoller.of(connection, request.toWire(), null);
  }

  /**
   * As {@link #acquireAsync}, telling how it stands in line about every second.
   *
   * @param request what for
   * @param progress must not be held up; what it throws ends the wait
   * @return granted or refused
   */
  public CompletableFuture<TokenDecision> acquireAsync(
      TokenRequest request, Consumer<TokenDecision.Queued> progress) {
    return TicketPoller.of(connection, request.toWire(), progress);
  }

  /**
   * As {@link #acquireAsync}, blocking; a thread that is interrupted leaves the line.
   *
   * @param request what for
   * @return granted or refused
   */
  public TokenDecision acquire(TokenRequest request) {
    return joined(acquireAsync(request));
  }

  /**
   * Waits for a ticket, also over a lost connection.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return granted or refused; {@code NOT_FOUND} if there is no such ticket, as after a restart of
   *     the server. Cancelling it ends the wait alone: the ticket must be asked for again soon
   */
  public CompletableFuture<TokenDecision> awaitAsync(String ticket) {
    return TicketPoller.of(connection, ticket, null);
  }

  /**
   * As {@link #awaitAsync}, telling how it stands in line about every second.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @param progress must not be held up; what it throws ends the wait
   * @return granted or refused
   */
  public CompletableFuture<TokenDecision> awaitAsync(
      String ticket, Consumer<TokenDecision.Queued> progress) {
    return TicketPoller.of(connection, ticket, progress);
  }

  /**
   * As {@link #awaitAsync}, blocking.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return granted or refused
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
   * How a ticket stands once it is decided, or after a while.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @param wait at most a minute; whole milliseconds
   * @return {@code NOT_FOUND} if there is no such ticket
   */
  public CompletableFuture<TokenDecision> pollAsync(String ticket, Duration wait) {
    return connection
        .call(
            GovernorGrpc.getPollTicketMethod(),
            PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(wait.toMillis()).build(),
            connection.callTimeout().plus(wait.abs()))
        .thenApply(answer -> GovernorProtoMapper.decision(answer.getDecision()));
  }

  /**
   * How a ticket stands now.
   *
   * @param ticket of {@link TokenDecision.Queued}
   * @return {@code NOT_FOUND} if there is no such ticket
   */
  public TokenDecision poll(String ticket) {
    return connection.await(pollAsync(ticket, Duration.ZERO));
  }

  /**
   * Leaves the line, or gives back what was granted.
   *
   * @param ticket of {@link TokenDecision.Queued}; {@code NOT_FOUND} if there is none
   */
  public void cancel(String ticket) {
    connection.await(
        GovernorGrpc.getCancelTicketMethod(),
        CancelTicketRequest.newBuilder().setTicket(ticket).build());
  }

  /**
   * Says what was used of a grant.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens 0 if nothing was
   * @return {@code NOT_FOUND} if it was settled before or has ended
   */
  public CompletableFuture<TokenSettlement> settleAsync(String reservation, long actualTokens) {
    return connection
        .call(
            GovernorGrpc.getSettleReservationMethod(),
            SettleReservationRequest.newBuilder()
                .setReservation(reservation)
                .setActualTokens(actualTokens)
                .build())
        .thenApply(answer -> TokenSettlement.of(answer.getSettlement()));
  }

  /**
   * As {@link #settleAsync}, blocking.
   *
   * @param reservation of {@link TokenDecision.Granted}
   * @param actualTokens 0 if nothing was
   * @return what became of it
   */
  public TokenSettlement settle(String reservation, long actualTokens) {
    return connection.await(settleAsync(reservation, actualTokens));
  }

  /**
   * The call goes on: the reservation lives as long again.
   *
   * @param reservation of {@link TokenDecision.Granted}; {@code NOT_FOUND} if it has ended
   */
  public void extend(String reservation) {
    connection.await(
        GovernorGrpc.getExtendReservationMethod(),
        ExtendReservationRequest.newBuilder().setReservation(reservation).build());
  }

  /**
   * Says what would become of a request, and changes nothing.
   *
   * @param request what for
   * @return what would happen now, and why
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
   * Tells how the provider of a model answered a call; its limits are gone by from now on.
   *
   * @param model whose provider
   * @param status of HTTP
   * @param headers by their names, in any case; only those on limits are looked at
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
   * How the models stand that the caller may use.
   *
   * @return levels, lines, counts and alerts
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
   * Has the server read its budget file anew; {@code FAILED_PRECONDITION} if that is invalid, and
   * nothing has changed.
   *
   * @return what the file also says, and nothing goes by
   */
  public List<String> reload() {
    return List.copyOf(
        connection
            .await(GovernorGrpc.getReloadBudgetsMethod(), ReloadBudgetsRequest.getDefaultInstance())
            .getIgnoredKeysList());
  }
}
