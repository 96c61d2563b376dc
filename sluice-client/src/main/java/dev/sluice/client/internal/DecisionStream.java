package dev.sluice.client.internal;

import dev.sluice.Decision;
import dev.sluice.client.SluiceClientException;
import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.proto.v1.Cost;
import dev.sluice.proto.v1.DecideRequest;
import dev.sluice.proto.v1.DecideStreamRequest;
import dev.sluice.proto.v1.DecideStreamResponse;
import dev.sluice.proto.v1.LimitsGrpc;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Sends decisions over one stream; requests that wait at the same time share a batch. Thread-safe.
 *
 * <p>If the stream is lost, requests without a response fail, because repeating them might take the
 * tokens twice. The next request opens a new stream.
 */
public final class DecisionStream {
  private static final int MAX_BATCH = 64;

  /** Batches in flight: enough to keep the server busy, few enough for batches to fill. */
  private static final int WINDOW = 4;

  /** The most requests that wait here; further ones fail. */
  private static final int MAX_WAITING = 65_536;

  /** The shortest time between two attempts to connect. */
  private static final long RETRY_NANOS = 100_000_000;

  private final GrpcConnection connection;

  // Guarded by this.
  private final Deque<Pending> waiting = new ArrayDeque<>();
  private final Deque<List<Pending>> unanswered = new ArrayDeque<>();
  private DecisionStream.@Nullable ResponseObserver current;
  private long batches;
  private long connectedNanos = System.nanoTime() - RETRY_NANOS;

  /** A request without a response. */
  private record Pending(DecideRequest request, CompletableFuture<Decision> result) {}

  public DecisionStream(GrpcConnection connection) {
    this.connection = connection;
  }

  public CompletableFuture<Decision> decide(Map<String, Long> costs, boolean peek) {
    DecideRequest.Builder request = DecideRequest.newBuilder().setPeek(peek);
    costs.forEach(
        (name, tokens) -> {
          if (tokens <= 0) {
            throw new IllegalArgumentException(
                "tokens must be positive: name=%s, tokens=%d".formatted(name, tokens));
          }
          request.addCosts(Cost.newBuilder().setLimitName(name).setTokens(tokens));
        });
    Pending pending = new Pending(request.build(), new CompletableFuture<>());
    synchronized (this) {
      if (waiting.size() >= MAX_WAITING) {
        return CompletableFuture.failedFuture(
            new SluiceClientException(
                Code.RESOURCE_EXHAUSTED,
                "too many requests wait for a decision: the limit is %d".formatted(MAX_WAITING)));
      }
      waiting.add(pending);
      pump();
    }
    return pending.result;
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
    if (now - connectedNanos >= RETRY_NANOS) {
      connectedNanos = now;
      connection.resetBackoff();
    }
    DecisionStream.ResponseObserver observer = new DecisionStream.ResponseObserver();
    ClientCallStreamObserver<DecideStreamRequest> requests =
        connection.stream(LimitsGrpc.getDecideStreamMethod(), observer);
    observer.requests = requests;
    current = observer;
    return requests;
  }

  private void onResponse(DecisionStream.ResponseObserver from, DecideStreamResponse response) {
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
      complete(parts.get(i).result, response.getResults(i));
    }
    for (Pending part : parts.subList(given, parts.size())) {
      part.result.completeExceptionally(
          new SluiceClientException(Code.INTERNAL, "the server returned too few results"));
    }
  }

  private static void complete(
      CompletableFuture<Decision> future, DecideStreamResponse.Result result) {
    if (result.hasError()) {
      future.completeExceptionally(Errors.of(result.getError()));
      return;
    }
    try {
      future.complete(LimitProtoMapper.decision(result.getDecision()));
    } catch (RuntimeException invalid) {
      future.completeExceptionally(Errors.of(invalid));
    }
  }

  private void lost(DecisionStream.ResponseObserver from, SluiceClientException cause) {
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
    failed.forEach(each -> each.result.completeExceptionally(cause));
  }

  /** Receives the responses of one stream. */
  private final class ResponseObserver implements StreamObserver<DecideStreamResponse> {
    // Guarded by DecisionStream.this; null until the stream has started.
    private @Nullable ClientCallStreamObserver<DecideStreamRequest> requests;

    @Override
    public void onNext(DecideStreamResponse response) {
      onResponse(this, response);
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
