package dev.sluice.server.grpc.services;

import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Handles a producer's stream of batches. Accepted batches are stored even if the producer
 * disconnects.
 */
final class EnqueueStream implements StreamObserver<EnqueueStreamRequest> {
  /** The most batches in flight to the broker; at the limit the producer has to wait. */
  private static final int WINDOW = 64;

  /** And how many bytes in them; one batch may have more. */
  private static final long MAX_BYTES = 16 << 20;

  private final QueueOperations queues;
  private final Credential key;
  private final OrderedResponses<EnqueueStreamResponse> answers;

  EnqueueStream(
      QueueOperations queues,
      Credential key,
      ServerCallStreamObserver<EnqueueStreamResponse> call,
      OpenStreams streams) {
    this.queues = queues;
    this.key = key;
    this.answers = new OrderedResponses<>(call, streams, WINDOW, MAX_BYTES);
    answers.begin();
  }

  @Override
  public void onNext(EnqueueStreamRequest request) {
    answers.arrived();
    if (!answers.hasFailed()) {
      enqueue(request);
    }
    answers.askForMore();
  }

  private void enqueue(EnqueueStreamRequest request) {
    CompletableFuture<List<UUID>> begun;
    try {
      begun =
          queues.enqueue(
              key, request.getQueue(), () -> QueueProtoMapper.messages(request.getMessagesList()));
    } catch (RuntimeException refused) {
      begun = CompletableFuture.failedFuture(refused);
    }
    answers.add(answered(request.getBatch(), begun), request.getSerializedSize());
  }

  private static CompletableFuture<EnqueueStreamResponse> answered(
      long batch, CompletableFuture<List<UUID>> begun) {
    Executor threads = AccountCallExecutor.forAnswer();
    CompletableFuture<EnqueueStreamResponse> answered = new CompletableFuture<>();
    Futures.when(
        begun,
        ids -> Futures.make(ids, threads, () -> answered.complete(answer(batch, ids, null))),
        failure -> answered.complete(answer(batch, List.of(), failure)));
    return answered;
  }

  private static EnqueueStreamResponse answer(
      long batch, List<UUID> ids, @Nullable Throwable failure) {
    EnqueueStreamResponse.Builder answer = EnqueueStreamResponse.newBuilder().setBatch(batch);
    return failure == null
        ? answer.addAllIds(IdFormat.texts(ids)).build()
        : answer.setError(ApiException.of(failure).toWire()).build();
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
