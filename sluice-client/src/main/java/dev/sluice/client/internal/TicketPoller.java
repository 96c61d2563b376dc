package dev.sluice.client.internal;

import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.TokenDecision;
import dev.sluice.client.TokenDecision.Reason;
import dev.sluice.proto.v1.CancelTicketRequest;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.PollTicketRequest;
import dev.sluice.proto.v1.PollTicketResponse;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.SettleReservationRequest;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Waits for the decision on a ticket with long polls, across lost connections. */
public final class TicketPoller implements AutoCloseable {
  /*
   * State. With a `request` this poller owns the ticket: it repeats the request, with the same
   * idempotency key, if a restart of the server or a long absence has lost the ticket, and cancels
   * the ticket if `result` is canceled. Without a `request` it only polls the caller's `ticket`.
   *
   * Concurrency. One call is in flight at a time, and its response starts the next one. Any thread
   * may complete `result` at any time: `finish` cancels the ticket known then, and each response
   * that brings a ticket or a grant checks `result` again.
   */
  /** The interval of progress reports. */
  private static final Duration PROGRESS_INTERVAL = Duration.ofSeconds(1);

  /** Short enough to poll over a new connection before the server removes the ticket. */
  private static final Duration LONG_POLL = Duration.ofSeconds(10);

  private static final Set<Code> TRANSIENT =
      Set.of(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED);

  /** Reasons after which an owned ticket is requested again. */
  private static final Set<Reason> LOST = Set.of(Reason.ABANDONED, Reason.CLOSED);

  private final GrpcConnection connection;
  private final dev.sluice.proto.v1.@Nullable TokenRequest request;
  private final @Nullable Consumer<TokenDecision.Queued> progress;
  private final long startNanos = System.nanoTime();
  private final CompletableFuture<TokenDecision> result = new CompletableFuture<>();
  private final ReconnectBackoff backoff = new ReconnectBackoff();
  private volatile String ticket;
  private volatile boolean known;
  private volatile boolean decided;
  private volatile @Nullable CompletableFuture<PollTicketResponse> polling;

  private TicketPoller(
      GrpcConnection connection,
      dev.sluice.proto.v1.@Nullable TokenRequest request,
      String ticket,
      @Nullable Consumer<TokenDecision.Queued> progress) {
    this.connection = connection;
    this.request = request;
    this.ticket = ticket;
    this.progress = progress;
  }

  /** Requests tokens and waits for the decision. */
  public static CompletableFuture<TokenDecision> of(
      GrpcConnection connection,
      dev.sluice.proto.v1.TokenRequest request,
      @Nullable Consumer<TokenDecision.Queued> progress) {
    dev.sluice.proto.v1.TokenRequest wire = request;
    if (wire.getIdempotencyKey().isEmpty()) {
      wire = wire.toBuilder().setIdempotencyKey(UUID.randomUUID().toString()).build();
    }
    TicketPoller poller = new TicketPoller(connection, wire, "", progress);
    return poller.start(poller::request);
  }

  /** Waits for the decision on a ticket. */
  public static CompletableFuture<TokenDecision> of(
      GrpcConnection connection, String ticket, @Nullable Consumer<TokenDecision.Queued> progress) {
    TicketPoller poller = new TicketPoller(connection, null, ticket, progress);
    return poller.start(poller::poll);
  }

  private CompletableFuture<TokenDecision> start(Runnable first) {
    connection.opened(this);
    var unused = result.whenComplete((decision, failure) -> finish());
    first.run();
    return result;
  }

  private void finish() {
    connection.closed(this);
    CompletableFuture<PollTicketResponse> call = polling;
    if (call != null) {
      call.cancel(false);
    }
    if (!decided) {
      cancelTicket();
    }
  }

  /** Cancels an owned ticket now; the server would remove it later as abandoned. */
  private void cancelTicket() {
    if (request != null && !ticket.isEmpty()) {
      var unused =
          connection.call(
              GovernorGrpc.getCancelTicketMethod(),
              CancelTicketRequest.newBuilder().setTicket(ticket).build());
    }
  }

  private void request() {
    if (request == null || result.isDone()) {
      return;
    }
    dev.sluice.proto.v1.TokenRequest.Builder repeated = request.toBuilder();
    if (request.getMaxWaitMs() > 0) {
      repeated.setMaxWaitMs(Math.max(1, remainingMillis()));
    }
    var unused =
        connection
            .call(
                GovernorGrpc.getRequestTokensMethod(),
                RequestTokensRequest.newBuilder().setRequest(repeated).build())
            .thenApply(response -> GovernorProtoMapper.decision(response.getDecision()))
            .whenComplete((decision, failure) -> onResponse(decision, failure, this::request));
  }

  private void poll() {
    if (result.isDone()) {
      return;
    }
    Duration maxWait = pollTime();
    CompletableFuture<PollTicketResponse> call =
        connection.call(
            GovernorGrpc.getPollTicketMethod(),
            PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(maxWait.toMillis()).build(),
            connection.callTimeout().plus(maxWait));
    polling = call;
    if (result.isDone()) {
      call.cancel(false);
    }
    var unused =
        call.thenApply(response -> GovernorProtoMapper.decision(response.getDecision()))
            .whenComplete((decision, failure) -> onResponse(decision, failure, this::poll));
  }

  /** Returns zero for the first poll, which tells whether server and ticket exist. */
  private Duration pollTime() {
    if (!known) {
      return Duration.ZERO;
    }
    return progress == null ? LONG_POLL : PROGRESS_INTERVAL;
  }

  private void onResponse(
      @Nullable TokenDecision decision, @Nullable Throwable failure, Runnable repeat) {
    if (decision instanceof TokenDecision.Queued queued) {
      onQueued(queued);
    } else if (decision instanceof TokenDecision.Denied denied
        && request != null
        && LOST.contains(denied.reason())) {
      retryLater(this::request, denied);
    } else if (decision != null) {
      complete(decision);
    } else if (failure != null && !result.isDone()) {
      failed(Errors.of(failure), repeat);
    }
  }

  private void onQueued(TokenDecision.Queued queued) {
    known = true;
    backoff.reset();
    ticket = queued.ticket();
    if (result.isDone()) {
      cancelTicket();
      return;
    }
    if (progress != null) {
      try {
        progress.accept(queued);
      } catch (RuntimeException failed) {
        result.completeExceptionally(failed);
      }
    }
    poll();
  }

  private void complete(TokenDecision decision) {
    decided = true;
    if (!result.complete(decision)
        && request != null
        && decision instanceof TokenDecision.Granted granted) {
      var unused =
          connection.call(
              GovernorGrpc.getSettleReservationMethod(),
              SettleReservationRequest.newBuilder().setReservation(granted.reservation()).build());
    }
  }

  /** Fails at once without a ticket; retries to keep one. */
  private void failed(SluiceClientException cause, Runnable repeat) {
    if (known && TRANSIENT.contains(cause.code())) {
      retryLater(repeat, null);
    } else if (known && cause.code() == Code.NOT_FOUND && request != null) {
      retryLater(this::request, null);
    } else {
      decided = true;
      result.completeExceptionally(cause);
    }
  }

  private void retryLater(Runnable step, TokenDecision.@Nullable Denied denied) {
    if (request != null && request.getMaxWaitMs() > 0 && remainingMillis() <= 0) {
      result.complete(denied == null ? timeout(request) : denied);
    } else {
      connection.retryLater(backoff, step);
    }
  }

  private long remainingMillis() {
    return request == null
        ? 0
        : request.getMaxWaitMs() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
  }

  /** Returns the denial of a server that cannot be reached; the remaining tokens are unknown. */
  private static TokenDecision timeout(dev.sluice.proto.v1.TokenRequest request) {
    return new TokenDecision.Denied(
        request.getModel(),
        request.getPriority(),
        request.getTokens(),
        0,
        Reason.TIMEOUT,
        "the request's maximum wait ended while the server could not be reached");
  }

  @Override
  public void close() {
    result.completeExceptionally(Errors.closed("the client"));
  }
}
