package dev.sluice.server;

import dev.sluice.ThrottleDecision;
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
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.HashMap;
import java.util.Map;

/** {@code sluice.v1.Limits}. */
final class LimitService extends LimitsGrpc.LimitsImplBase {
  private static final int MAX_BATCH = 1_024;

  private final LimitApi limits;
  private final OpenStreams streams;

  LimitService(LimitApi limits, OpenStreams streams) {
    this.limits = limits;
    this.streams = streams;
  }

  @Override
  public void decide(DecideRequest request, StreamObserver<DecideResponse> call) {
    Calls.answer(
        call, caller -> DecideResponse.newBuilder().setDecision(decide(caller, request)).build());
  }

  private Decision decide(Caller caller, DecideRequest request) {
    Map<String, Long> costs = new HashMap<>();
    for (Cost cost : request.getCostsList()) {
      long tokens = cost.getTokens() == 0 ? 1 : cost.getTokens();
      if (costs.put(cost.getKey(), tokens) != null) {
        throw ApiException.invalid("a key must be named once: " + cost.getKey());
      }
    }
    return decision(limits.decide(caller, costs, request.getDryRun()));
  }

  private static Decision decision(ThrottleDecision decision) {
    Decision.Builder wire = Decision.newBuilder();
    if (decision instanceof ThrottleDecision.Denied denied) {
      wire.setOutcome(Outcome.DENIED)
          .setBindingKey(denied.bindingKey())
          .setRetryAfterNs(denied.retryAfterNanos());
    } else if (decision instanceof ThrottleDecision.Depleted depleted) {
      wire.setOutcome(Outcome.DEPLETED).setBindingKey(depleted.bindingKey());
    } else if (decision instanceof ThrottleDecision.Impossible impossible) {
      wire.setOutcome(Outcome.IMPOSSIBLE)
          .setBindingKey(impossible.bindingKey())
          .setBurst(impossible.burst());
    } else {
      wire.setOutcome(Outcome.GRANTED);
    }
    return wire.build();
  }

  @Override
  public StreamObserver<DecideStreamRequest> decideStream(
      StreamObserver<DecideStreamResponse> call) {
    Caller caller = Access.caller();
    var answers = (ServerCallStreamObserver<DecideStreamResponse>) call;
    DecisionStream stream = new DecisionStream(caller, answers);
    answers.setOnCancelHandler(stream::end);
    streams.add(stream);
    return stream;
  }

  /** One client's stream of batches. */
  private final class DecisionStream
      implements StreamObserver<DecideStreamRequest>, OpenStreams.Stream {
    private final Caller caller;
    private final ServerCallStreamObserver<DecideStreamResponse> call;
    private final RequestFlow requests;

    // Guarded by this.
    private boolean ended;

    DecisionStream(Caller caller, ServerCallStreamObserver<DecideStreamResponse> call) {
      this.caller = caller;
      this.call = call;
      this.requests = new RequestFlow(call, () -> true);
      call.setOnReadyHandler(requests::ask);
      requests.ask();
    }

    @Override
    public void onNext(DecideStreamRequest request) {
      requests.arrived();
      answer(request);
      requests.ask();
    }

    private synchronized void answer(DecideStreamRequest request) {
      if (ended) {
        return;
      }
      if (request.getRequestsCount() > MAX_BATCH) {
        fail(
            ApiException.invalid(
                "a batch must have at most %d requests: %d"
                    .formatted(MAX_BATCH, request.getRequestsCount())));
        return;
      }
      DecideStreamResponse.Builder response =
          DecideStreamResponse.newBuilder().setBatch(request.getBatch());
      for (DecideRequest each : request.getRequestsList()) {
        response.addResults(result(each));
      }
      call.onNext(response.build());
    }

    private DecideStreamResponse.Result result(DecideRequest request) {
      DecideStreamResponse.Result.Builder result = DecideStreamResponse.Result.newBuilder();
      try {
        return result.setDecision(decide(caller, request)).build();
      } catch (RuntimeException refused) {
        return result.setError(ApiException.of(refused).toWire()).build();
      }
    }

    @Override
    public synchronized void fail(Throwable why) {
      if (end()) {
        call.onError(ApiException.of(why).toStatus());
      }
    }

    @Override
    public void onError(Throwable gone) {
      end();
    }

    @Override
    public synchronized void onCompleted() {
      if (end()) {
        call.onCompleted();
      }
    }

    private synchronized boolean end() {
      boolean first = !ended;
      ended = true;
      streams.remove(this);
      return first;
    }
  }

  @Override
  public void setLimit(SetLimitRequest request, StreamObserver<SetLimitResponse> call) {
    Limit limit = request.getLimit();
    Calls.answer(
        call,
        caller -> {
          limits.set(
              caller,
              limit.getKey(),
              new LimitApi.Rate(limit.getRatePerSecond(), limit.getBurst()));
          return SetLimitResponse.getDefaultInstance();
        });
  }

  @Override
  public void removeLimit(RemoveLimitRequest request, StreamObserver<RemoveLimitResponse> call) {
    Calls.answer(
        call,
        caller -> {
          limits.remove(caller, request.getKey());
          return RemoveLimitResponse.getDefaultInstance();
        });
  }

  @Override
  public void listLimits(ListLimitsRequest request, StreamObserver<ListLimitsResponse> call) {
    Calls.answer(
        call,
        caller -> {
          ListLimitsResponse.Builder response = ListLimitsResponse.newBuilder();
          limits
              .list(caller)
              .forEach(
                  (key, rate) ->
                      response.addLimits(
                          Limit.newBuilder()
                              .setKey(key)
                              .setRatePerSecond(rate.perSecond())
                              .setBurst(rate.burst())));
          return response.build();
        });
  }
}
