package dev.sluice.server;

import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One producer's stream of batches; answers go out in the order in which batches came. */
final class EnqueueStream implements StreamObserver<EnqueueStreamRequest> {
  /** How many batches may be on their way into the broker: then the producer has to wait. */
  private static final int WINDOW = 64;

  private final QueueApi queues;
  private final Caller caller;
  private final ServerCallStreamObserver<EnqueueStreamResponse> call;

  // Guarded by this.
  private final Deque<CompletableFuture<EnqueueStreamResponse>> waiting = new ArrayDeque<>();
  private boolean ended;

  EnqueueStream(
      QueueApi queues, Caller caller, ServerCallStreamObserver<EnqueueStreamResponse> call) {
    this.queues = queues;
    this.caller = caller;
    this.call = call;
    call.disableAutoRequest();
    call.setOnCancelHandler(() -> {});
    call.request(WINDOW);
  }

  @Override
  public void onNext(EnqueueStreamRequest request) {
    CompletableFuture<List<UUID>> begun;
    try {
      begun = queues.enqueue(caller, request.getQueue(), Wire.messages(request.getMessagesList()));
    } catch (RuntimeException refused) {
      begun = CompletableFuture.failedFuture(refused);
    }
    CompletableFuture<EnqueueStreamResponse> answer =
        begun.handle((ids, failure) -> answer(request.getBatch(), ids, failure));
    synchronized (this) {
      waiting.add(answer);
    }
    Later.whenOver(answer, this::send);
  }

  private static EnqueueStreamResponse answer(
      long batch, List<UUID> ids, @Nullable Throwable failure) {
    EnqueueStreamResponse.Builder answer = EnqueueStreamResponse.newBuilder().setBatch(batch);
    return failure == null
        ? answer.addAllIds(QueueService.texts(ids)).build()
        : answer.setError(ApiException.of(failure).toWire()).build();
  }

  private synchronized void send() {
    while (!waiting.isEmpty() && waiting.peek().isDone()) {
      call.onNext(waiting.remove().join());
      call.request(1);
    }
    if (ended && waiting.isEmpty()) {
      call.onCompleted();
    }
  }

  @Override
  public void onError(Throwable gone) {
    // What was accepted is stored; nobody is left to hear of it.
  }

  @Override
  public synchronized void onCompleted() {
    ended = true;
    send();
  }
}
