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
final class EnqueueStream implements StreamObserver<EnqueueStreamRequest>, OpenStreams.Stream {
  /** How many batches may be on their way into the broker: then the producer has to wait. */
  private static final int WINDOW = 64;

  private final QueueApi queues;
  private final Caller caller;
  private final ServerCallStreamObserver<EnqueueStreamResponse> call;
  private final OpenStreams streams;

  // Guarded by this.
  private final Deque<CompletableFuture<EnqueueStreamResponse>> waiting = new ArrayDeque<>();
  private boolean ended;
  private boolean over;
  private @Nullable Throwable failure;

  EnqueueStream(
      QueueApi queues,
      Caller caller,
      ServerCallStreamObserver<EnqueueStreamResponse> call,
      OpenStreams streams) {
    this.queues = queues;
    this.caller = caller;
    this.call = call;
    call.disableAutoRequest();
    this.streams = streams;
    call.setOnCancelHandler(() -> streams.remove(this));
    call.request(WINDOW);
    streams.add(this);
  }

  @Override
  public void onNext(EnqueueStreamRequest request) {
    if (hasFailed()) {
      return;
    }
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
    while (!over && !waiting.isEmpty() && waiting.peek().isDone()) {
      call.onNext(waiting.remove().join());
      call.request(1);
    }
    if (ended && !over && waiting.isEmpty()) {
      over = true;
      streams.remove(this);
      if (failure == null) {
        call.onCompleted();
      } else {
        call.onError(ApiException.of(failure).toStatus());
      }
    }
  }

  private synchronized boolean hasFailed() {
    return failure != null;
  }

  /** What was accepted before is answered first. */
  @Override
  public synchronized void fail(Throwable why) {
    if (!ended) {
      ended = true;
      failure = why;
      send();
    }
  }

  @Override
  public void onError(Throwable gone) {
    // What was accepted is stored; nobody is left to hear of it.
    streams.remove(this);
  }

  @Override
  public synchronized void onCompleted() {
    ended = true;
    send();
  }
}
