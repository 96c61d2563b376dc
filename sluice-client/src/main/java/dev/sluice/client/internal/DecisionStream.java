package dev.sluice.client.internal;

import dev.sluice.client.LimitDecision;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.proto.v1.Cost;
import dev.sluice.proto.v1.DecideRequest;
import dev.sluice.proto.v1.DecideStreamRequest;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.Decision;
import dev.sluice.proto.v1.LimitsGrpc;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Asks for decisions over one stream; those that are asked for at the same time go together. What
 * was not answered when the stream was lost fails, since asking again might take the tokens twice;
 * the next request begins a new stream.
 */
public final class DecisionStream {
  private static final int MAX_BATCH = 64;

  /** Batches under way: enough to keep the server busy, few enough for batches to fill. */
  private static final int WINDOW = 4;

  /** What may wait here; beyond that, who asks is told so. */
  private static final int MAX_WAITING = 65_536;

  /** How often at most a server that is away is looked for. */
  private static final long RETRY_NANOS = 100_000_000;

  private final GrpcConnection connection;

  // Guarded by this.
  private final Deque<Pending> waiting = new ArrayDeque<>();
  private final Deque<List<Pending>> unanswered = new ArrayDeque<>();
  private DecisionStream.@Nullable ResponseObserver current;
  private long batches;
  private long lookedNanos = System.nanoTime() - RETRY_NANOS;

  /** A request that is not answered yet. */
  private record Pending(DecideRequest request, CompletableFuture<LimitDecision> answer) {}

  public DecisionStream(GrpcConnection connection) {
    this.connection = connection;
  }

  public CompletableFuture<LimitDecision> decide(Map<String, Long> costs, boolean dryRun) {
    DecideRequest.Builder request = DecideRequest.newBuilder().setPeek(dryRun);
    costs.forEach(
        (key, tokens) -> {
          if (tokens <= 0) {
            throw new IllegalArgumentException(
                "tokens must be positive: key=%s, tokens=%d".formatted(key, tokens));
          }
          request.addCosts(Cost.newBuilder().setLimitName(key).setTokens(tokens));
        });
    Pending pending = new Pending(request.build(), new CompletableFuture<>());
    synchronized (this) {
      if (waiting.size() >= MAX_WAITING) {
        return CompletableFuture.failedFuture(
            new SluiceClientException(
                Code.RESOURCE_EXHAUSTED,
                "at most %d requests must wait for a decision".formatted(MAX_WAITING)));
      }
      waiting.add(pending);
      pump();
    }
    return pending.answer;
  }

  private synchronized void pump() {
    while (unanswered.size() < WINDOW && !waiting.isEmpty()) {
      List<Pending> parts = new ArrayList<>();
      DecideStreamRequest.Builder batch = DecideStreamRequest.newBuilder().setBatch(batches++);
      while (parts.size() < MAX_BATCH && !waiting.isEmpty()) {
        Pending next = waiting.remove();
        parts.add(next);
        batch.addRequests(next.request);
      }
      unanswered.add(parts);
      requests().onNext(batch.build());
    }
  }

  private ClientCallStreamObserver<DecideStreamRequest> requests() {
    if (current != null && current.requests != null) {
      return current.requests;
    }
    long now = System.nanoTime();
    if (now - lookedNanos >= RETRY_NANOS) {
      lookedNanos = now;
      connection.retryAtOnce();
    }
    DecisionStream.ResponseObserver answers = new DecisionStream.ResponseObserver();
    ClientCallStreamObserver<DecideStreamRequest> requests =
        connection.stream(LimitsGrpc.getDecideStreamMethod(), answers);
    answers.requests = requests;
    current = answers;
    return requests;
  }

  private void answered(DecisionStream.ResponseObserver from, DecideStreamResponse response) {
    List<Pending> parts;
    synchronized (this) {
      if (from != current || unanswered.isEmpty()) {
        return;
      }
      parts = unanswered.remove();
      pump();
    }
    int given = Math.min(parts.size(), response.getResultsCount());
    for (int i = 0; i < given; i++) {
      answer(parts.get(i).answer, response.getResults(i));
    }
    for (Pending part : parts.subList(given, parts.size())) {
      part.answer.completeExceptionally(
          new SluiceClientException(Code.INTERNAL, "the server gave too few results"));
    }
  }

  private static void answer(
      CompletableFuture<LimitDecision> answer, DecideStreamResponse.Result result) {
    if (result.hasError()) {
      answer.completeExceptionally(Errors.of(result.getError()));
      return;
    }
    try {
      answer.complete(decision(result.getDecision()));
    } catch (SluiceClientException unknown) {
      answer.completeExceptionally(unknown);
    }
  }

  private static LimitDecision decision(Decision wire) {
    return switch (wire.getOutcome()) {
      case GRANTED -> new LimitDecision.Granted();
      case DENIED ->
          new LimitDecision.Denied(wire.getLimitName(), Duration.ofNanos(wire.getRetryAfterNs()));
      case DEPLETED -> new LimitDecision.Depleted(wire.getLimitName());
      case IMPOSSIBLE -> new LimitDecision.Impossible(wire.getLimitName(), wire.getCapacity());
      case OUTCOME_UNSPECIFIED, UNRECOGNIZED ->
          throw new SluiceClientException(
              Code.INTERNAL, "the server gave an unknown outcome: " + wire.getOutcomeValue());
    };
  }

  private void lost(DecisionStream.ResponseObserver from, SluiceClientException why) {
    List<Pending> failed = new ArrayList<>();
    synchronized (this) {
      if (from != current) {
        return;
      }
      current = null;
      unanswered.forEach(failed::addAll);
      unanswered.clear();
      failed.addAll(waiting);
      waiting.clear();
    }
    failed.forEach(each -> each.answer.completeExceptionally(why));
  }

  /** The answers of one stream. */
  private final class ResponseObserver implements StreamObserver<DecideStreamResponse> {
    // Guarded by Decisions.this; null until the stream is begun.
    private @Nullable ClientCallStreamObserver<DecideStreamRequest> requests;

    @Override
    public void onNext(DecideStreamResponse response) {
      answered(this, response);
    }

    @Override
    public void onError(Throwable failure) {
      lost(this, Errors.of(failure));
    }

    @Override
    public void onCompleted() {
      lost(this, new SluiceClientException(Code.UNAVAILABLE, "the server ended the stream"));
    }
  }
}
