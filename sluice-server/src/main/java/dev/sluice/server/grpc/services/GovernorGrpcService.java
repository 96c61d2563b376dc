package dev.sluice.server.grpc.services;

import dev.sluice.governor.TokenDecision;
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
import dev.sluice.proto.v1.ReportFeedbackRequest;
import dev.sluice.proto.v1.ReportFeedbackResponse;
import dev.sluice.proto.v1.RequestTokensRequest;
import dev.sluice.proto.v1.RequestTokensResponse;
import dev.sluice.proto.v1.SettleReservationRequest;
import dev.sluice.proto.v1.SettleReservationResponse;
import dev.sluice.proto.v1.WatchTicketRequest;
import dev.sluice.proto.v1.WatchTicketResponse;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.RequestAdmission;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.operations.GovernorOperations;
import dev.sluice.server.operations.TicketWatch;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import org.jspecify.annotations.Nullable;

/** {@code sluice.v1.Governor}. */
public final class GovernorGrpcService extends GovernorGrpc.GovernorImplBase {
  private final GovernorOperations governor;
  private final OpenStreams streams;

  public GovernorGrpcService(GovernorOperations governor, OpenStreams streams) {
    this.governor = governor;
    this.streams = streams;
  }

  @Override
  public void requestTokens(
      RequestTokensRequest request, StreamObserver<RequestTokensResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> governor.request(caller, GovernorProtoMapper.request(request.getRequest())),
        decision ->
            RequestTokensResponse.newBuilder()
                .setDecision(GovernorProtoMapper.decision(decision))
                .build());
  }

  @Override
  public void pollTicket(PollTicketRequest request, StreamObserver<PollTicketResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller ->
            governor.poll(
                AuthenticationInterceptor.key(), request.getTicket(), request.getWaitMs()),
        decision ->
            PollTicketResponse.newBuilder()
                .setDecision(GovernorProtoMapper.decision(decision))
                .build());
    RequestAdmission.parsed();
  }

  @Override
  public void watchTicket(WatchTicketRequest request, StreamObserver<WatchTicketResponse> call) {
    WatchStream stream = new WatchStream((ServerCallStreamObserver<WatchTicketResponse>) call);
    try {
      Futures.when(
          governor.watch(AuthenticationInterceptor.caller(), request.getTicket()),
          stream::begin,
          stream::fail);
    } catch (RuntimeException refused) {
      stream.fail(refused);
    }
    RequestAdmission.parsed();
  }

  /** A client that watches a ticket. */
  private final class WatchStream implements TicketWatch.TicketListener, OpenStreams.Stream {
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
    public synchronized void standing(TokenDecision.Queued standing) {
      if (!ended) {
        send(GovernorProtoMapper.decision(standing));
      }
    }

    private synchronized void send(dev.sluice.proto.v1.TokenDecision decision) {
      UnaryCalls.unlessGone(
          call, () -> call.onNext(WatchTicketResponse.newBuilder().setDecision(decision).build()));
    }

    @Override
    public void decided(TokenDecision decision) {
      dev.sluice.proto.v1.TokenDecision last;
      try {
        last = GovernorProtoMapper.decision(decision);
      } catch (ApiException away) {
        fail(away);
        return;
      }
      if (end()) {
        send(last);
        UnaryCalls.unlessGone(call, call::onCompleted);
      }
    }

    @Override
    public void failed(ApiException why) {
      fail(why);
    }

    private synchronized void refuse(ApiException why) {
      UnaryCalls.unlessGone(call, () -> call.onError(why.toStatus()));
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
    UnaryCalls.answerLater(
        call,
        caller -> governor.cancel(caller, request.getTicket()),
        done -> CancelTicketResponse.getDefaultInstance());
  }

  @Override
  public void settleReservation(
      SettleReservationRequest request, StreamObserver<SettleReservationResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> governor.settle(caller, request.getReservation(), request.getActualTokens()),
        settled ->
            SettleReservationResponse.newBuilder()
                .setSettlement(GovernorProtoMapper.settlement(settled))
                .build());
  }

  @Override
  public void extendReservation(
      ExtendReservationRequest request, StreamObserver<ExtendReservationResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> governor.extend(caller, request.getReservation()),
        done -> ExtendReservationResponse.getDefaultInstance());
  }

  @Override
  public void explainTokens(
      ExplainTokensRequest request, StreamObserver<ExplainTokensResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> governor.explain(caller, GovernorProtoMapper.request(request.getRequest())),
        explained ->
            ExplainTokensResponse.newBuilder()
                .setExplanation(GovernorProtoMapper.explanation(explained))
                .build());
  }

  @Override
  public void reportFeedback(
      ReportFeedbackRequest request, StreamObserver<ReportFeedbackResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller ->
            governor.feedback(
                caller, request.getModel(), request.getStatus(), request.getHeadersMap()),
        done -> ReportFeedbackResponse.getDefaultInstance());
  }

  @Override
  public void getGovernorStatus(
      GetGovernorStatusRequest request, StreamObserver<GetGovernorStatusResponse> call) {
    UnaryCalls.answerLater(
        call,
        governor::status,
        status ->
            GetGovernorStatusResponse.newBuilder()
                .setStatus(GovernorProtoMapper.status(status))
                .build());
  }

  @Override
  public void reloadBudgets(
      ReloadBudgetsRequest request, StreamObserver<ReloadBudgetsResponse> call) {
    UnaryCalls.answerLater(
        call,
        governor::reload,
        withoutEffect ->
            ReloadBudgetsResponse.newBuilder().addAllIgnoredKeys(withoutEffect).build());
  }
}
