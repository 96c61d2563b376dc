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

/**
 * Somebody who waits for a turn: asks for the ticket by long polls, also after a lost connection.
 */
public final class TicketPoller implements AutoCloseable {
  /*
   * State. With a `request` the place in line is ours: it is asked for again, with the same
   * idempotency key, if a restart of the server or a long absence has lost it, and given up if
   * nobody wants `outcome` any more. Without, there is only somebody's `ticket`.
   *
   * Concurrency. One call is under way at a time, and its answer begins the next one. Anybody may
   * complete `outcome` at any time: `over` gives up what is known then, and whoever learns of a
   * ticket or a grant later looks at `outcome` after that.
   */
  /** How often progress is told. */
  private static final Duration GLANCE = Duration.ofSeconds(1);

  /** Short enough to notice in time that the ticket must be asked for on another connection. */
  private static final Duration LONG_POLL = Duration.ofSeconds(10);

  private static final Set<Code> PASSING =
      Set.of(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED);

  /** Of a line in which we still want to be. */
  private static final Set<Reason> LOST = Set.of(Reason.ABANDONED, Reason.CLOSED);

  private final GrpcConnection connection;
  private final dev.sluice.proto.v1.@Nullable TokenRequest request;
  private final @Nullable Consumer<TokenDecision.Queued> progress;
  private final long beganNanos = System.nanoTime();
  private final CompletableFuture<TokenDecision> outcome = new CompletableFuture<>();
  private final ReconnectBackoff backoff = new ReconnectBackoff();
  private volatile String ticket;
  private volatile boolean heard;
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

  /** Asks for tokens and waits in line. */
  public static CompletableFuture<TokenDecision> of(
      GrpcConnection connection,
      dev.sluice.proto.v1.TokenRequest request,
      @Nullable Consumer<TokenDecision.Queued> progress) {
    dev.sluice.proto.v1.TokenRequest wire = request;
    if (wire.getIdempotencyKey().isEmpty()) {
      wire = wire.toBuilder().setIdempotencyKey(UUID.randomUUID().toString()).build();
    }
    TicketPoller wait = new TicketPoller(connection, wire, "", progress);
    return wait.begin(wait::ask);
  }

  /** Waits for a ticket. */
  public static CompletableFuture<TokenDecision> of(
      GrpcConnection connection, String ticket, @Nullable Consumer<TokenDecision.Queued> progress) {
    TicketPoller wait = new TicketPoller(connection, null, ticket, progress);
    return wait.begin(wait::poll);
  }

  private CompletableFuture<TokenDecision> begin(Runnable first) {
    connection.opened(this);
    var unused = outcome.whenComplete((told, failure) -> over());
    first.run();
    return outcome;
  }

  private void over() {
    connection.closed(this);
    CompletableFuture<PollTicketResponse> call = polling;
    if (call != null) {
      call.cancel(false);
    }
    if (!decided) {
      leave();
    }
  }

  /** Nobody waits for the answer: who is not heard of leaves the line too, only later. */
  private void leave() {
    if (request != null && !ticket.isEmpty()) {
      var unused =
          connection.call(
              GovernorGrpc.getCancelTicketMethod(),
              CancelTicketRequest.newBuilder().setTicket(ticket).build());
    }
  }

  private void ask() {
    if (request == null || outcome.isDone()) {
      return;
    }
    dev.sluice.proto.v1.TokenRequest.Builder wanted = request.toBuilder();
    if (request.getMaxWaitMs() > 0) {
      wanted.setMaxWaitMs(Math.max(1, leftMillis()));
    }
    var unused =
        connection
            .call(
                GovernorGrpc.getRequestTokensMethod(),
                RequestTokensRequest.newBuilder().setRequest(wanted).build())
            .thenApply(answer -> GovernorProtoMapper.decision(answer.getDecision()))
            .whenComplete((told, failure) -> answered(told, failure, this::ask));
  }

  private void poll() {
    if (outcome.isDone()) {
      return;
    }
    Duration wait = pollTime();
    CompletableFuture<PollTicketResponse> call =
        connection.call(
            GovernorGrpc.getPollTicketMethod(),
            PollTicketRequest.newBuilder().setTicket(ticket).setWaitMs(wait.toMillis()).build(),
            connection.callTimeout().plus(wait));
    polling = call;
    if (outcome.isDone()) {
      call.cancel(false);
    }
    var unused =
        call.thenApply(answer -> GovernorProtoMapper.decision(answer.getDecision()))
            .whenComplete((told, failure) -> answered(told, failure, this::poll));
  }

  /** The first answer comes at once: it says whether there is a server, and such a ticket. */
  private Duration pollTime() {
    if (!heard) {
      return Duration.ZERO;
    }
    return progress == null ? LONG_POLL : GLANCE;
  }

  private void answered(
      @Nullable TokenDecision told, @Nullable Throwable failure, Runnable sameAgain) {
    if (told instanceof TokenDecision.Queued queued) {
      inLine(queued);
    } else if (told instanceof TokenDecision.Denied refused
        && request != null
        && LOST.contains(refused.reason())) {
      later(this::ask, refused);
    } else if (told != null) {
      decide(told);
    } else if (failure != null && !outcome.isDone()) {
      failed(Errors.of(failure), sameAgain);
    }
  }

  private void inLine(TokenDecision.Queued queued) {
    heard = true;
    backoff.reset();
    ticket = queued.ticket();
    if (outcome.isDone()) {
      leave();
      return;
    }
    if (progress != null) {
      try {
        progress.accept(queued);
      } catch (RuntimeException broken) {
        outcome.completeExceptionally(broken);
      }
    }
    poll();
  }

  private void decide(TokenDecision told) {
    decided = true;
    if (!outcome.complete(told)
        && request != null
        && told instanceof TokenDecision.Granted granted) {
      var unused =
          connection.call(
              GovernorGrpc.getSettleReservationMethod(),
              SettleReservationRequest.newBuilder().setReservation(granted.reservation()).build());
    }
  }

  /** Whoever has not been in line is told at once; the place of others is worth more attempts. */
  private void failed(SluiceClientException why, Runnable sameAgain) {
    if (heard && PASSING.contains(why.code())) {
      later(sameAgain, null);
    } else if (heard && why.code() == Code.NOT_FOUND && request != null) {
      later(this::ask, null);
    } else {
      decided = true;
      outcome.completeExceptionally(why);
    }
  }

  private void later(Runnable step, TokenDecision.@Nullable Denied refused) {
    if (request != null && request.getMaxWaitMs() > 0 && leftMillis() <= 0) {
      outcome.complete(refused == null ? late(request) : refused);
    } else {
      connection.retryLater(backoff, step);
    }
  }

  private long leftMillis() {
    return request == null
        ? 0
        : request.getMaxWaitMs() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNanos);
  }

  /** What a server would say that can be reached; how much its model has left is not known. */
  private static TokenDecision late(dev.sluice.proto.v1.TokenRequest request) {
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
    outcome.completeExceptionally(Errors.closed("the client"));
  }
}
