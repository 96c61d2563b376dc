package dev.sluice.client;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.internal.Errors;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.client.internal.ReconnectBackoff;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sends messages to one queue in batches, over one stream. Thread-safe.
 *
 * <p>The messages of one thread are stored in order, except refused messages and their neighbors.
 * After a lost connection the producer reconnects and sends unanswered messages again. <strong>Such
 * messages may be stored twice</strong>, unless they have a {@linkplain Message#withDedupeId dedupe
 * id} and the queue has a dedupe window.
 *
 * <p>Futures complete on a client thread: dependents must not block, and so must not call {@link
 * #send}.
 *
 * @since 0.1
 */
public final class Producer implements AutoCloseable {
  /*
   * State. A message is in `waiting`, then in a batch in `unanswered`, and from there perhaps in
   * `again`: in exactly one of them until its future is completed. `bufferedMessages` and
   * `bufferedBytes` count the messages until then.
   *
   * Concurrency. `lock` guards all state; futures are completed outside of it. Requests are passed
   * to gRPC under the lock, which keeps them in order and does not block. Responses of a stream that
   * is no longer `current` are ignored.
   */
  private static final int MAX_BATCH_MESSAGES = 512;
  private static final int MAX_BATCH_BYTES = 256 << 10;

  /** Batches in flight: enough to keep the server busy, few enough for batches to fill. */
  private static final int WINDOW = 8;

  /** Failures in a row with INTERNAL after which the messages are considered the cause. */
  private static final int MAX_DEFECTS = 5;

  private final GrpcConnection connection;
  private final String queue;
  private final ProducerConfig config;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock.
  private final ReconnectBackoff backoff = new ReconnectBackoff();
  private final Deque<Pending> waiting = new ArrayDeque<>();
  private final Deque<List<Pending>> again = new ArrayDeque<>();
  private final Deque<Batch> unanswered = new ArrayDeque<>();
  private int bufferedMessages;
  private long bufferedBytes;
  private long batches;
  private Producer.@Nullable ResponseObserver current;
  private @Nullable SluiceClientException ended;
  private boolean closing;

  /** A message without a response. */
  private record Pending(
      dev.sluice.proto.v1.Message message, int bytes, CompletableFuture<String> result) {}

  /** Messages of one request. */
  private record Batch(long number, List<Pending> parts) {}

  Producer(GrpcConnection connection, String queue, ProducerConfig config) {
    this.connection = connection;
    this.queue = queue;
    this.config = config;
  }

  /**
   * Sends a message; blocks while the buffer is full.
   *
   * @param message the message
   * @return its id, once the message is as durable as the queue is configured; fails with {@link
   *     SluiceClientException}
   * @throws SluiceClientException {@code INTERRUPTED} if the thread is interrupted while it waits
   */
  public CompletableFuture<String> send(Message message) {
    return send(message, true);
  }

  /**
   * Sends a message without blocking; fails with {@code RESOURCE_EXHAUSTED} if the buffer is full.
   *
   * @param message the message
   * @return its id, as for {@link #send}
   */
  public CompletableFuture<String> trySend(Message message) {
    return send(message, false);
  }

  private CompletableFuture<String> send(Message message, boolean wait) {
    dev.sluice.proto.v1.Message wire = message.toWire();
    int bytes = wire.getSerializedSize();
    if (bytes > connection.maxMessageBytes()) {
      return refused(
          Code.INVALID_ARGUMENT,
          "a message must have at most %d bytes, headers included, but had %d"
              .formatted(connection.maxMessageBytes(), bytes));
    }
    Pending pending = new Pending(wire, bytes, new CompletableFuture<>());
    lock.lock();
    try {
      while (wait && ended == null && !closing && isFull(bytes)) {
        changed.await();
      }
      if (ended != null) {
        return CompletableFuture.failedFuture(Errors.of(ended));
      }
      if (closing) {
        return CompletableFuture.failedFuture(Errors.closed("the producer"));
      }
      if (isFull(bytes)) {
        return refused(
            Code.RESOURCE_EXHAUSTED,
            "the buffer must have at most %d messages and %d bytes, but had %d and %d"
                .formatted(
                    config.maxBufferedMessages(),
                    config.maxBufferedBytes(),
                    bufferedMessages,
                    bufferedBytes));
      }
      bufferedMessages++;
      bufferedBytes += bytes;
      waiting.add(pending);
      pump();
    } catch (InterruptedException now) {
      throw Errors.interrupted(now);
    } finally {
      lock.unlock();
    }
    return pending.result;
  }

  private static CompletableFuture<String> refused(Code code, String message) {
    return CompletableFuture.failedFuture(new SluiceClientException(code, message));
  }

  /** Returns whether a message must wait; an empty buffer takes a message of any size. */
  private boolean isFull(int bytes) {
    return bufferedMessages >= config.maxBufferedMessages()
        || (bufferedMessages > 0 && bufferedBytes + bytes > config.maxBufferedBytes());
  }

  void connect() {
    lock.lock();
    try {
      if (ended == null && current == null) {
        Producer.ResponseObserver observer = new Producer.ResponseObserver();
        current = observer;
        observer.requests = connection.stream(QueuesGrpc.getEnqueueStreamMethod(), observer);
        pump();
      }
    } finally {
      lock.unlock();
    }
  }

  private void pump() {
    if (current == null || current.requests == null) {
      return;
    }
    while (unanswered.size() < WINDOW && !(again.isEmpty() && waiting.isEmpty())) {
      List<Pending> parts = again.isEmpty() ? nextParts() : again.remove();
      Batch batch = new Batch(batches++, parts);
      unanswered.add(batch);
      EnqueueStreamRequest.Builder request =
          EnqueueStreamRequest.newBuilder().setBatch(batch.number).setQueue(queue);
      parts.forEach(part -> request.addMessages(part.message));
      current.requests.onNext(request.build());
    }
  }

  private List<Pending> nextParts() {
    List<Pending> parts = new ArrayList<>();
    long bytes = 0;
    for (Pending next = waiting.peek(); next != null; next = waiting.peek()) {
      bytes += next.bytes;
      if (!parts.isEmpty() && (parts.size() == MAX_BATCH_MESSAGES || bytes > MAX_BATCH_BYTES)) {
        break;
      }
      parts.add(waiting.remove());
    }
    return parts;
  }

  private void onResponse(Producer.ResponseObserver from, EnqueueStreamResponse response) {
    Batch batch;
    SluiceClientException refusal = null;
    lock.lock();
    try {
      batch = unanswered.peek();
      if (from != current || batch == null) {
        return;
      }
      if (response.hasError()) {
        refusal = Errors.of(response.getError());
        if (refusal.code() == Code.UNAVAILABLE) {
          from.cancel();
          lostLocked(from, refusal);
          return;
        }
      } else if (response.getIdsCount() != batch.parts.size()) {
        refusal =
            new SluiceClientException(
                Code.INTERNAL,
                "the server must return one id per message, but returned %d for %d"
                    .formatted(response.getIdsCount(), batch.parts.size()));
      }
      unanswered.remove();
      backoff.reset();
      if (refusal != null && batch.parts.size() > 1 && isRefusalOfOne(refusal.code())) {
        split(batch.parts);
        pump();
        return;
      }
      pump();
    } finally {
      lock.unlock();
    }
    complete(batch, response, refusal);
  }

  /** Completes the futures before it frees the buffer, so that close() finds them completed. */
  private void complete(
      Batch batch, EnqueueStreamResponse response, @Nullable SluiceClientException refusal) {
    if (refusal == null) {
      for (int i = 0; i < batch.parts.size(); i++) {
        batch.parts.get(i).result.complete(response.getIds(i));
      }
    } else {
      fail(batch.parts, refusal);
    }
    lock.lock();
    try {
      forget(batch.parts);
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether one message may be the cause: a batch is stored as a whole or not at all. */
  private static boolean isRefusalOfOne(Code code) {
    return code == Code.INVALID_ARGUMENT || code == Code.RESOURCE_EXHAUSTED;
  }

  private void split(List<Pending> parts) {
    int half = parts.size() / 2;
    again.addFirst(List.copyOf(parts.subList(half, parts.size())));
    again.addFirst(List.copyOf(parts.subList(0, half)));
  }

  private void forget(List<Pending> parts) {
    bufferedMessages -= parts.size();
    parts.forEach(part -> bufferedBytes -= part.bytes);
    changed.signalAll();
  }

  private static void fail(List<Pending> parts, SluiceClientException cause) {
    parts.forEach(part -> part.result.completeExceptionally(cause));
  }

  private void lost(Producer.ResponseObserver from, SluiceClientException cause) {
    List<Pending> failed;
    lock.lock();
    try {
      failed = lostLocked(from, cause);
    } finally {
      lock.unlock();
    }
    fail(failed, cause);
  }

  /** Returns the failed messages, whose futures the caller completes outside of the lock. */
  private List<Pending> lostLocked(Producer.ResponseObserver from, SluiceClientException cause) {
    if (from != current) {
      return List.of();
    }
    current = null;
    boolean fatal = cause.code() == Code.UNAUTHENTICATED || cause.code() == Code.PERMISSION_DENIED;
    boolean retryable =
        cause.code() == Code.UNAVAILABLE
            || (cause.code() == Code.INTERNAL && backoff.attempts() < MAX_DEFECTS);
    List<Pending> failed = List.of();
    if (fatal) {
      ended = cause;
      failed = forgetAll();
    } else if (retryable) {
      while (!unanswered.isEmpty()) {
        again.addFirst(unanswered.removeLast().parts);
      }
    } else {
      failed = forgetUnonResponse();
    }
    if (ended == null) {
      connection.retryLater(backoff, this::connect);
    }
    return failed;
  }

  private List<Pending> forgetUnonResponse() {
    List<Pending> forgotten = new ArrayList<>();
    unanswered.forEach(batch -> forgotten.addAll(batch.parts));
    unanswered.clear();
    forget(forgotten);
    return forgotten;
  }

  private List<Pending> forgetAll() {
    List<Pending> forgotten = forgetUnonResponse();
    List<Pending> unsent = new ArrayList<>();
    again.forEach(unsent::addAll);
    unsent.addAll(waiting);
    again.clear();
    waiting.clear();
    forget(unsent);
    forgotten.addAll(unsent);
    return forgotten;
  }

  /**
   * Takes no more messages and waits for the answers to those it has, as long as the client waits
   * for a call; messages that are not answered by then fail with {@code CLOSED}.
   */
  @Override
  public void close() {
    List<Pending> failed = List.of();
    SluiceClientException cause =
        new SluiceClientException(
            Code.CLOSED, "the producer was closed before the server had answered");
    lock.lock();
    try {
      closing = true;
      changed.signalAll();
      awaitResponses();
      if (ended == null) {
        ended = cause;
        if (current != null && current.requests != null) {
          current.requests.onCompleted();
        }
        current = null;
        failed = forgetAll();
      }
    } finally {
      lock.unlock();
    }
    fail(failed, cause);
    connection.closed(this);
  }

  private void awaitResponses() {
    long left = connection.callTimeout().toNanos();
    try {
      while (bufferedMessages > 0 && ended == null && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
    }
  }

  /** Receives the responses of one stream. */
  private final class ResponseObserver implements StreamObserver<EnqueueStreamResponse> {
    // Guarded by lock; null until the stream has started.
    private @Nullable ClientCallStreamObserver<EnqueueStreamRequest> requests;

    void cancel() {
      if (requests != null) {
        requests.cancel("the server is closing", null);
      }
    }

    @Override
    public void onNext(EnqueueStreamResponse response) {
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
