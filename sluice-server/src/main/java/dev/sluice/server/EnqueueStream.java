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

  /** And how many bytes in them; one batch may have more. */
  private static final long MAX_BYTES = 16 << 20;

  private final QueueApi queues;
  private final Caller caller;
  private final ServerCallStreamObserver<EnqueueStreamResponse> call;
  private final OpenStreams streams;
  private final RequestFlow requests;

  // Guarded by this.
  private final Deque<Batch> waiting = new ArrayDeque<>();
  private long waitingBytes;
  private boolean ended;
  private boolean over;
  private @Nullable Throwable failure;

  /** One that is on its way. */
  private record Batch(CompletableFuture<EnqueueStreamResponse> answer, int bytes) {}

  EnqueueStream(
      QueueApi queues,
      Caller caller,
      ServerCallStreamObserver<EnqueueStreamResponse> call,
      OpenStreams streams) {
    this.queues = queues;
    this.caller = caller;
    this.call = call;
    this.streams = streams;
    this.requests = new RequestFlow(call, this::mayAsk);
    call.setOnCancelHandler(this::leave);
    call.setOnReadyHandler(requests::ask);
    requests.ask();
    streams.add(this);
  }

  private synchronized boolean mayAsk() {
    return waiting.size() < WINDOW && waitingBytes < MAX_BYTES && !over;
  }

  @Override
  public void onNext(EnqueueStreamRequest request) {
    requests.arrived();
    if (!hasFailed()) {
      enqueue(request);
    }
    requests.ask();
  }

  private void enqueue(EnqueueStreamRequest request) {
    CompletableFuture<List<UUID>> begun;
    try {
      begun = queues.enqueue(caller, request.getQueue(), Wire.messages(request.getMessagesList()));
    } catch (RuntimeException refused) {
      begun = CompletableFuture.failedFuture(refused);
    }
    CompletableFuture<EnqueueStreamResponse> answer =
        begun.handle((ids, failure) -> answer(request.getBatch(), ids, failure));
    int bytes = request.getSerializedSize();
    synchronized (this) {
      waiting.add(new Batch(answer, bytes));
      waitingBytes += bytes;
    }
    Later.whenOver(
        answer,
        () -> {
          send();
          requests.ask();
        });
  }

  private static EnqueueStreamResponse answer(
      long batch, List<UUID> ids, @Nullable Throwable failure) {
    EnqueueStreamResponse.Builder answer = EnqueueStreamResponse.newBuilder().setBatch(batch);
    return failure == null
        ? answer.addAllIds(QueueService.texts(ids)).build()
        : answer.setError(ApiException.of(failure).toWire()).build();
  }

  private synchronized void send() {
    while (!over && !waiting.isEmpty() && waiting.peek().answer().isDone()) {
      Batch done = waiting.remove();
      waitingBytes -= done.bytes();
      Calls.unlessGone(call, () -> call.onNext(done.answer().join()));
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
    leave();
  }

  /** What was accepted is stored; nobody is left to hear of it. */
  private synchronized void leave() {
    over = true;
    streams.remove(this);
  }

  @Override
  public synchronized void onCompleted() {
    ended = true;
    send();
  }
}
