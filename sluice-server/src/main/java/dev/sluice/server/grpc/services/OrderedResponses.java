package dev.sluice.server.grpc.services;

import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The answers of a stream that takes batches: they go out in the order in which the batches came.
 * With too much on its way the client is asked for no more.
 */
final class OrderedResponses<T> implements OpenStreams.Stream {
  private final ServerCallStreamObserver<T> call;
  private final OpenStreams streams;
  private final int maxBatches;
  private final long maxSize;
  private final StreamFlowControl requests;

  // Guarded by this.
  private final Deque<Batch<T>> waiting = new ArrayDeque<>();
  private long waitingSize;
  private boolean ended;
  private boolean over;
  private @Nullable Throwable failure;

  /** A batch in flight. */
  private record Batch<T>(CompletableFuture<T> answer, long size) {}

  /** {@code maxSize} is of all batches on their way together; one may have more. */
  OrderedResponses(
      ServerCallStreamObserver<T> call, OpenStreams streams, int maxBatches, long maxSize) {
    this.call = call;
    this.streams = streams;
    this.maxBatches = maxBatches;
    this.maxSize = maxSize;
    this.requests = new StreamFlowControl(call, this::mayAsk);
  }

  /** Starts to request batches from the client. */
  void begin() {
    call.setOnCancelHandler(this::leave);
    call.setOnReadyHandler(requests::ask);
    requests.ask();
    streams.add(this);
  }

  private synchronized boolean mayAsk() {
    return waiting.size() < maxBatches && waitingSize < maxSize && !over;
  }

  /** Records an arrived batch; call it before the batch is started. */
  void arrived() {
    requests.arrived();
  }

  /** Requests further batches; call it once per batch, after {@link #add} if that was called. */
  void askForMore() {
    requests.ask();
  }

  /** A batch has been begun; its answer never fails. */
  void add(CompletableFuture<T> answer, long size) {
    synchronized (this) {
      waiting.add(new Batch<>(answer, size));
      waitingSize += size;
    }
    Futures.whenOver(
        answer,
        () -> {
          send();
          requests.ask();
        });
  }

  private synchronized void send() {
    while (!over && !waiting.isEmpty() && waiting.peek().answer().isDone()) {
      Batch<T> done = waiting.remove();
      waitingSize -= done.size();
      UnaryCalls.unlessGone(call, () -> call.onNext(done.answer().join()));
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

  synchronized boolean hasFailed() {
    return failure != null;
  }

  /** Fails the stream after the responses to all accepted batches. */
  @Override
  public synchronized void fail(Throwable why) {
    if (!ended) {
      ended = true;
      failure = why;
      send();
    }
  }

  /** Drops the responses to accepted batches: the client has left. */
  synchronized void leave() {
    over = true;
    streams.remove(this);
  }

  /** The client has sent its last batch. */
  synchronized void complete() {
    ended = true;
    send();
  }
}
