package dev.sluice.server.grpc.services;

import dev.sluice.proto.v1.Cost;
import dev.sluice.proto.v1.DecideRequest;
import dev.sluice.proto.v1.DecideResponse;
import dev.sluice.proto.v1.DecideStreamRequest;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.Decision;
import dev.sluice.proto.v1.Limit;
import dev.sluice.proto.v1.LimitsGrpc;
import dev.sluice.proto.v1.ListLimitsRequest;
import dev.sluice.proto.v1.ListLimitsResponse;
import dev.sluice.proto.v1.Outcome;
import dev.sluice.proto.v1.RemoveLimitRequest;
import dev.sluice.proto.v1.RemoveLimitResponse;
import dev.sluice.proto.v1.SetLimitRequest;
import dev.sluice.proto.v1.SetLimitResponse;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.operations.LimitOperations;
import dev.sluice.server.support.ApiException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** {@code sluice.v1.Limits}. */
public final class LimitGrpcService extends LimitsGrpc.LimitsImplBase {
  /** The most batches of a stream in flight; at the limit its client has to wait. */
  private static final int MAX_BATCHES = 64;

  /** And how many requests in them; those of one more batch may come on top. */
  private static final long MAX_UNDER_WAY = 4_096;

  private final LimitOperations limits;
  private final OpenStreams streams;

  public LimitGrpcService(LimitOperations limits, OpenStreams streams) {
    this.limits = limits;
    this.streams = streams;
  }

  @Override
  public void decide(DecideRequest request, StreamObserver<DecideResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> decide(caller, request),
        decision -> DecideResponse.newBuilder().setDecision(decision(decision)).build());
  }

  private CompletableFuture<dev.sluice.Decision> decide(Caller caller, DecideRequest request) {
    caller.requireSome(Kind.LIMIT);
    Map<String, Long> costs = new HashMap<>();
    for (Cost cost : request.getCostsList()) {
      long tokens = cost.getTokens() == 0 ? 1 : cost.getTokens();
      if (costs.put(cost.getLimitName(), tokens) != null) {
        throw ApiException.invalid(
            "costs must name each limit once, but repeat " + cost.getLimitName());
      }
    }
    return limits.decide(caller, costs, request.getPeek());
  }

  private static Decision decision(dev.sluice.Decision decision) {
    Decision.Builder wire = Decision.newBuilder();
    if (decision instanceof dev.sluice.Decision.Denied denied) {
      wire.setOutcome(Outcome.DENIED)
          .setLimitName(denied.limitName())
          .setRetryAfterNs(denied.retryAfterNanos());
    } else if (decision instanceof dev.sluice.Decision.Depleted depleted) {
      wire.setOutcome(Outcome.DEPLETED)
          .setLimitName(depleted.limitName())
          .setMissing(depleted.missing());
    } else if (decision instanceof dev.sluice.Decision.Impossible impossible) {
      wire.setOutcome(Outcome.IMPOSSIBLE)
          .setLimitName(impossible.limitName())
          .setCapacity(impossible.capacity());
    } else if (decision instanceof dev.sluice.Decision.Granted granted) {
      wire.setOutcome(Outcome.GRANTED).setRemaining(granted.remaining());
    }
    return wire.build();
  }

  @Override
  public StreamObserver<DecideStreamRequest> decideStream(
      StreamObserver<DecideStreamResponse> call) {
    return new DecisionStream(
        AuthenticationInterceptor.caller(), (ServerCallStreamObserver<DecideStreamResponse>) call);
  }

  /** A client's stream of batches; all requests of a batch are in flight at once. */
  private final class DecisionStream implements StreamObserver<DecideStreamRequest> {
    private final Caller caller;
    private final OrderedResponses<DecideStreamResponse> answers;

    DecisionStream(Caller caller, ServerCallStreamObserver<DecideStreamResponse> call) {
      this.caller = caller;
      this.answers = new OrderedResponses<>(call, streams, MAX_BATCHES, MAX_UNDER_WAY);
      answers.begin();
    }

    @Override
    public void onNext(DecideStreamRequest request) {
      answers.arrived();
      if (!answers.hasFailed()) {
        answers.add(answer(request), request.getRequestsCount());
      }
      answers.askForMore();
    }

    private CompletableFuture<DecideStreamResponse> answer(DecideStreamRequest request) {
      List<CompletableFuture<DecideStreamResponse.Result>> results =
          request.getRequestsList().stream().map(this::result).toList();
      return CompletableFuture.allOf(results.toArray(CompletableFuture[]::new))
          .thenApply(
              all -> {
                DecideStreamResponse.Builder response =
                    DecideStreamResponse.newBuilder().setBatch(request.getBatch());
                results.forEach(each -> response.addResults(each.join()));
                return response.build();
              });
    }

    private CompletableFuture<DecideStreamResponse.Result> result(DecideRequest request) {
      CompletableFuture<dev.sluice.Decision> begun;
      try {
        begun = decide(caller, request);
      } catch (RuntimeException refused) {
        begun = CompletableFuture.failedFuture(refused);
      }
      return begun.handle(DecisionStream::result);
    }

    private static DecideStreamResponse.Result result(
        dev.sluice.Decision decision, @Nullable Throwable failure) {
      DecideStreamResponse.Result.Builder result = DecideStreamResponse.Result.newBuilder();
      return failure == null
          ? result.setDecision(decision(decision)).build()
          : result.setError(ApiException.of(failure).toWire()).build();
    }

    @Override
    public void onError(Throwable gone) {
      answers.leave();
    }

    @Override
    public void onCompleted() {
      answers.complete();
    }
  }

  @Override
  public void setLimit(SetLimitRequest request, StreamObserver<SetLimitResponse> call) {
    Limit limit = request.getLimit();
    UnaryCalls.answerLater(
        call,
        caller ->
            limits.set(
                caller,
                limit.getName(),
                new LimitOperations.Rate(limit.getRatePerSecond(), limit.getBurst())),
        done -> SetLimitResponse.getDefaultInstance());
  }

  @Override
  public void removeLimit(RemoveLimitRequest request, StreamObserver<RemoveLimitResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> limits.remove(caller, request.getName()),
        done -> RemoveLimitResponse.getDefaultInstance());
  }

  @Override
  public void listLimits(ListLimitsRequest request, StreamObserver<ListLimitsResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ListLimitsResponse.Builder response = ListLimitsResponse.newBuilder();
          limits
              .list(caller)
              .forEach(
                  (key, rate) ->
                      response.addLimits(
                          Limit.newBuilder()
                              .setName(key)
                              .setRatePerSecond(rate.perSecond())
                              .setBurst(rate.burst())));
          return response.build();
        });
  }
}
