package dev.sluice.server;

import dev.sluice.governor.Outcome;
import dev.sluice.proto.v1.CancelTicketRequest;
import dev.sluice.proto.v1.CancelTicketResponse;
import dev.sluice.proto.v1.ExplainTokensRequest;
import dev.sluice.proto.v1.ExplainTokensResponse;
import dev.sluice.proto.v1.ExtendReservationRequest;
import dev.sluice.proto.v1.ExtendReservationResponse;
import dev.sluice.proto.v1.GetGovernorStatusRequest;
import dev.sluice.proto.v1.GetGovernorStatusResponse;
import dev.sluice.proto.v1.GovernorGrpc;
import dev.sluice.proto.v1.PollTicketRequest;
import dev.sluice.proto.v1.PollTicketResponse;
import dev.sluice.proto.v1.ReloadBudgetsRequest;
import dev.sluice.proto.v1.ReloadBudgetsResponse;
import dev.sluice.proto.v1.ReportAnswerRequest;
import dev.sluice.proto.v1.ReportAnswerResponse;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.RequestTokensResponse;
import dev.sluice.proto.v1.SettleReservationRequest;
import dev.sluice.proto.v1.SettleReservationResponse;
import dev.sluice.proto.v1.TokenOutcome;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import org.jspecify.annotations.Nullable;

/** {@code sluice.v1.Governor}. */
final class GovernorService extends GovernorGrpc.GovernorImplBase {
  private final GovernorApi governor;
  private final OpenStreams streams;

  GovernorService(GovernorApi governor, OpenStreams streams) {
    this.governor = governor;
    this.streams = streams;
  }

  @Override
  public void requestTokens(
      RequestTokensRequest request, StreamObserver<RequestTokensResponse> call) {
    Calls.answerLater(
        call,
        caller -> governor.request(caller, GovernorWire.wanted(request.getRequest())),
        outcome ->
            RequestTokensResponse.newBuilder().setOutcome(GovernorWire.outcome(outcome)).build());
  }

  @Override
  public void pollTicket(PollTicketRequest request, StreamObserver<PollTicketResponse> call) {
    Calls.answerLater(
        call,
        caller -> governor.poll(Access.key(), request.getTicket(), request.getWaitMs()),
        outcome ->
            PollTicketResponse.newBuilder().setOutcome(GovernorWire.outcome(outcome)).build());
    InboundCalls.parsed();
  }

  @Override
  public void watchTicket(WatchTicketRequest request, StreamObserver<WatchTicketResponse> call) {
    WatchStream stream = new WatchStream((ServerCallStreamObserver<WatchTicketResponse>) call);
    try {
      Later.when(governor.watch(Access.caller(), request.getTicket()), stream::begin, stream::fail);
    } catch (RuntimeException refused) {
      stream.fail(refused);
    }
    InboundCalls.parsed();
  }

  /** One client that watches a ticket. */
  private final class WatchStream implements TicketWatch.Follower, OpenStreams.Stream {
    private final ServerCallStreamObserver<WatchTicketResponse> call;

    // Guarded by this.
    private @Nullable TicketWatch watch;
    private boolean ended;

    WatchStream(ServerCallStreamObserver<WatchTicketResponse> call) {
      this.call = call;
      call.setOnCancelHandler(this::end);
      streams.add(this);
    }

    void begin(TicketWatch begun) {
      boolean late;
      synchronized (this) {
        late = ended;
        watch = begun;
      }
      if (late) {
        begun.close();
      } else {
        begun.begin(this);
      }
    }

    /** False if it has ended before. */
    private boolean end() {
      TicketWatch begun;
      synchronized (this) {
        if (ended) {
          return false;
        }
        ended = true;
        begun = watch;
      }
      streams.remove(this);
      if (begun != null) {
        begun.close();
      }
      return true;
    }

    @Override
    public boolean isThere() {
      return !call.isCancelled();
    }

    @Override
    public boolean isReady() {
      return call.isReady();
    }

    @Override
    public synchronized void standing(Outcome.Queued standing) {
      if (!ended) {
        send(GovernorWire.outcome(standing));
      }
    }

    private synchronized void send(TokenOutcome outcome) {
      Calls.unlessGone(
          call, () -> call.onNext(WatchTicketResponse.newBuilder().setOutcome(outcome).build()));
    }

    @Override
    public void decided(Outcome outcome) {
      TokenOutcome last;
      try {
        last = GovernorWire.outcome(outcome);
      } catch (ApiException away) {
        fail(away);
        return;
      }
      if (end()) {
        send(last);
        Calls.unlessGone(call, call::onCompleted);
      }
    }

    @Override
    public void failed(ApiException why) {
      fail(why);
    }

    private synchronized void refuse(ApiException why) {
      Calls.unlessGone(call, () -> call.onError(why.toStatus()));
    }

    @Override
    public void fail(Throwable why) {
      if (end()) {
        refuse(ApiException.of(why));
      }
    }
  }

  @Override
  public void cancelTicket(CancelTicketRequest request, StreamObserver<CancelTicketResponse> call) {
    Calls.answerLater(
        call,
        caller -> governor.cancel(caller, request.getTicket()),
        done -> CancelTicketResponse.getDefaultInstance());
  }

  @Override
  public void settleReservation(
      SettleReservationRequest request, StreamObserver<SettleReservationResponse> call) {
    Calls.answerLater(
        call,
        caller -> governor.settle(caller, request.getReservation(), request.getActualTokens()),
        settled ->
            SettleReservationResponse.newBuilder()
                .setSettlement(GovernorWire.settlement(settled))
                .build());
  }

  @Override
  public void extendReservation(
      ExtendReservationRequest request, StreamObserver<ExtendReservationResponse> call) {
    Calls.answerLater(
        call,
        caller -> governor.extend(caller, request.getReservation()),
        done -> ExtendReservationResponse.getDefaultInstance());
  }

  @Override
  public void explainTokens(
      ExplainTokensRequest request, StreamObserver<ExplainTokensResponse> call) {
    Calls.answerLater(
        call,
        caller -> governor.explain(caller, GovernorWire.wanted(request.getRequest())),
        explained ->
            ExplainTokensResponse.newBuilder()
                .setExplanation(GovernorWire.explanation(explained))
                .build());
  }

  @Override
  public void reportAnswer(ReportAnswerRequest request, StreamObserver<ReportAnswerResponse> call) {
    Calls.answerLater(
        call,
        caller ->
            governor.feedback(
                caller, request.getModel(), request.getStatus(), request.getHeadersMap()),
        done -> ReportAnswerResponse.getDefaultInstance());
  }

  @Override
  public void getGovernorStatus(
      GetGovernorStatusRequest request, StreamObserver<GetGovernorStatusResponse> call) {
    Calls.answerLater(
        call,
        governor::status,
        status ->
            GetGovernorStatusResponse.newBuilder().setStatus(GovernorWire.status(status)).build());
  }

  @Override
  public void reloadBudgets(
      ReloadBudgetsRequest request, StreamObserver<ReloadBudgetsResponse> call) {
    Calls.answerLater(
        call,
        governor::reload,
        withoutEffect ->
            ReloadBudgetsResponse.newBuilder().addAllWithoutEffect(withoutEffect).build());
  }
}
