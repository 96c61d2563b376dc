package dev.sluice.client;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.client.internal.Errors;
import dev.sluice.client.internal.GrpcConnection;
import dev.sluice.client.internal.ReconnectBackoff;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.Settlement;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Receives messages of one queue, with a bound on unsettled ones. Thread-safe.
 *
 * <p>After a lost connection the consumer reconnects; unsettled messages are delivered again. It
 * ends if the queue does not exist or the API key lacks the permission: then {@link #poll} throws
 * and {@link #ended} fails.
 *
 * @since 0.1
 */
public final class MessageConsumer implements AutoCloseable {
  /*
   * State. `buffer` has the messages of the current stream that no caller has taken. A settlement is
   * in `settling`, then in a batch in `unanswered`; after a lost connection it is in `settling`
   * again, because the lease may have outlived the connection. Closing drains the stream first: a
   * message that is released before that would be delivered again. Then `buffer` is released, which
   * returns the tokens of its throttle keys.
   *
   * Concurrency. `lock` guards all state; futures are completed and handlers are called outside of
   * it. Responses of a stream that is no longer `current` are ignored.
   */
  private static final int MAX_BATCH = 1_000;

  /** The most batches of settlements in flight. */
  private static final int WINDOW = 8;

  private static final Set<Code> FATAL =
      Set.of(Code.NOT_FOUND, Code.PERMISSION_DENIED, Code.UNAUTHENTICATED, Code.INVALID_ARGUMENT);

  private final GrpcConnection connection;
  private final String queue;
  private final int prefetch;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock.
  private final ReconnectBackoff backoff = new ReconnectBackoff();
  private final Deque<dev.sluice.client.Delivery> buffer = new ArrayDeque<>();
  private final Deque<Pending> settling = new ArrayDeque<>();
  private final Deque<Batch> unanswered = new ArrayDeque<>();
  private final List<Thread> handlers = new ArrayList<>();
  private long batches;
  private MessageConsumer.@Nullable ResponseObserver current;
  private @Nullable SluiceClientException failure;
  private boolean closing;

  /** A settlement without a response. */
  private record Pending(Settlement settlement, CompletableFuture<Void> result) {}

  /** Settlements of one request. */
  private record Batch(long number, List<Pending> parts) {}

  /** Processes messages. */
  @FunctionalInterface
  public interface Handler {
    /**
     * Processes a message and settles it, now or later. If this throws, the consumer nacks the
     * message with the exception's text.
     *
     * @param delivery the message
     * @throws Exception the message failed
     */
    void handle(dev.sluice.client.Delivery delivery) throws Exception;
  }

  MessageConsumer(GrpcConnection connection, String queue, int prefetch) {
    if (prefetch <= 0) {
      throw new IllegalArgumentException("prefetch must be positive, but was " + prefetch);
    }
    this.connection = connection;
    this.queue = queue;
    this.prefetch = prefetch;
  }

  /** Starts threads that pass every message to {@code handler}. */
  void handle(Handler handler, int threads) {
    lock.lock();
    try {
      for (int i = 0; i < threads; i++) {
        Thread thread = new Thread(() -> serve(handler), "sluice-%s-%d".formatted(queue, i));
        thread.setDaemon(true);
        handlers.add(thread);
        thread.start();
      }
    } finally {
      lock.unlock();
    }
  }

  private void serve(Handler handler) {
    for (dev.sluice.client.Delivery next = take(); next != null; next = take()) {
      try {
        handler.handle(next);
      } catch (Exception failed) {
        // If the handler has settled the message, the server refuses this second settlement.
        CompletableFuture<Void> unused = next.nack(String.valueOf(failed));
      }
    }
  }

  /** Blocks for the next message; returns null when the consumer has ended. */
  private dev.sluice.client.@Nullable Delivery take() {
    lock.lock();
    try {
      while (buffer.isEmpty() && failure == null && !closing) {
        changed.await();
      }
      return closing ? null : buffer.poll();
    } catch (InterruptedException now) {
      Thread.currentThread().interrupt();
      return null;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns messages, blocking until the first one arrives.
   *
   * @param maxMessages the most messages to return
   * @param maxWait the longest time to wait for the first message
   * @return the messages; empty if none came in time
   * @throws SluiceClientException if the consumer has ended, or {@code INTERRUPTED}
   */
  public List<dev.sluice.client.Delivery> poll(int maxMessages, Duration maxWait) {
    if (maxMessages <= 0) {
      throw new IllegalArgumentException("maxMessages must be positive, but was " + maxMessages);
    }
    List<dev.sluice.client.Delivery> taken = new ArrayList<>();
    lock.lock();
    try {
      long left = maxWait.toNanos();
      while (buffer.isEmpty() && failure == null && !closing && left > 0) {
        left = changed.awaitNanos(left);
      }
      if (failure != null) {
        throw Errors.of(failure);
      }
      if (closing) {
        throw Errors.closed("the consumer");
      }
      while (taken.size() < maxMessages && !buffer.isEmpty()) {
        taken.add(buffer.remove());
      }
    } catch (InterruptedException now) {
      throw Errors.interrupted(now);
    } finally {
      lock.unlock();
    }
    return taken;
  }

  /**
   * Returns a future for the end of this consumer.
   *
   * @return completes when the consumer is closed; fails with {@link SluiceClientException} if the
   *     server ended it
   */
  public CompletableFuture<Void> ended() {
    return ended.copy();
  }

  private CompletableFuture<Void> settle(Settlement settlement) {
    Pending pending = new Pending(settlement, new CompletableFuture<>());
    lock.lock();
    try {
      if (failure != null) {
        return CompletableFuture.failedFuture(Errors.of(failure));
      }
      settling.add(pending);
      pump();
    } finally {
      lock.unlock();
    }
    return pending.result;
  }

  void connect() {
    lock.lock();
    try {
      if (failure == null && !closing && current == null) {
        MessageConsumer.ResponseObserver incoming = new MessageConsumer.ResponseObserver();
        current = incoming;
        ClientCallStreamObserver<ConsumeRequest> requests =
            connection.stream(QueuesGrpc.getConsumeMethod(), incoming);
        incoming.requests = requests;
        requests.onNext(
            ConsumeRequest.newBuilder()
                .setOpen(ConsumeRequest.Open.newBuilder().setQueue(queue).setPrefetch(prefetch))
                .build());
        pump();
      }
    } finally {
      lock.unlock();
    }
  }

  private void pump() {
    if (current == null || current.requests == null || current.halfClosed) {
      return;
    }
    while (unanswered.size() < WINDOW && !settling.isEmpty()) {
      List<Pending> parts = new ArrayList<>();
      while (parts.size() < MAX_BATCH && !settling.isEmpty()) {
        parts.add(settling.remove());
      }
      Batch batch = new Batch(batches++, parts);
      unanswered.add(batch);
      var settlements = ConsumeRequest.Settlements.newBuilder().setBatch(batch.number);
      parts.forEach(part -> settlements.addSettlements(part.settlement));
      current.requests.onNext(ConsumeRequest.newBuilder().setSettle(settlements).build());
    }
  }

  private void delivered(MessageConsumer.ResponseObserver from, List<Delivery> deliveries) {
    lock.lock();
    try {
      if (from == current) {
        deliveries.forEach(
            each -> buffer.add(new dev.sluice.client.Delivery(queue, each, this::settle)));
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Releases the messages that no caller has taken; the server delivers no more. */
  private void drained(MessageConsumer.ResponseObserver from) {
    lock.lock();
    try {
      if (from == current) {
        from.drained = true;
        for (dev.sluice.client.Delivery each : buffer) {
          CompletableFuture<Void> unused = each.release();
        }
        buffer.clear();
        changed.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  private void opened() {
    lock.lock();
    try {
      backoff.reset();
    } finally {
      lock.unlock();
    }
  }

  /** Finds the batch by its number, because the server may answer a later one first. */
  private void settled(MessageConsumer.ResponseObserver from, ConsumeResponse.Settled settled) {
    Batch batch;
    lock.lock();
    try {
      batch =
          unanswered.stream()
              .filter(each -> each.number == settled.getBatch())
              .findFirst()
              .orElse(null);
      if (from != current || batch == null) {
        return;
      }
    } finally {
      lock.unlock();
    }
    for (ConsumeResponse.Failure each : settled.getFailuresList()) {
      batch.parts.get(each.getIndex()).result.completeExceptionally(Errors.of(each.getError()));
    }
    batch.parts.forEach(part -> part.result.complete(null));
    // After completing the futures, so that a waiting close() finds them completed.
    lock.lock();
    try {
      unanswered.remove(batch);
      pump();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void lost(MessageConsumer.ResponseObserver from, SluiceClientException cause) {
    List<Pending> failed = List.of();
    boolean fatal = FATAL.contains(cause.code());
    lock.lock();
    try {
      from.over = true;
      changed.signalAll();
      if (from != current) {
        return;
      }
      current = null;
      buffer.clear();
      while (!unanswered.isEmpty()) {
        List<Pending> parts = unanswered.removeLast().parts;
        for (int i = parts.size() - 1; i >= 0; i--) {
          settling.addFirst(parts.get(i));
        }
      }
      if (fatal) {
        failed = endLocked(cause);
      } else if (!closing) {
        connection.retryLater(backoff, this::connect);
      }
    } finally {
      lock.unlock();
    }
    fail(failed, cause);
    if (fatal) {
      ended.completeExceptionally(cause);
      connection.closed(this);
    }
  }

  private List<Pending> endLocked(SluiceClientException cause) {
    if (failure == null) {
      failure = cause;
    }
    List<Pending> failed = new ArrayList<>();
    unanswered.forEach(batch -> failed.addAll(batch.parts));
    unanswered.clear();
    failed.addAll(settling);
    settling.clear();
    buffer.clear();
    changed.signalAll();
    return failed;
  }

  private static void fail(List<Pending> parts, SluiceClientException cause) {
    parts.forEach(part -> part.result.completeExceptionally(cause));
  }

  /**
   * Stops delivery, waits up to the call timeout for handlers and for the responses to settlements,
   * and returns unsettled messages to the queue. Messages that no handler and no caller of {@link
   * #poll} has taken are released, with the tokens of their throttle keys.
   */
  @Override
  public void close() {
    SluiceClientException cause = Errors.closed("the consumer");
    List<Pending> failed;
    List<Thread> running;
    lock.lock();
    try {
      if (!closing) {
        closing = true;
        drain();
      }
      changed.signalAll();
      running = List.copyOf(handlers);
    } finally {
      lock.unlock();
    }
    long deadline = System.nanoTime() + connection.callTimeout().toNanos();
    boolean interrupted = !joined(running, deadline);
    lock.lock();
    try {
      interrupted |= !leave(deadline);
      failed = endLocked(cause);
    } finally {
      lock.unlock();
    }
    fail(failed, cause);
    ended.complete(null);
    connection.closed(this);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void drain() {
    if (current != null && current.requests != null) {
      current.requests.onNext(
          ConsumeRequest.newBuilder().setDrain(ConsumeRequest.Drain.getDefaultInstance()).build());
    }
  }

  /** Joins the threads; returns false if interrupted. A handler may close its own consumer. */
  private static boolean joined(List<Thread> threads, long deadline) {
    try {
      for (Thread thread : threads) {
        long left = deadline - System.nanoTime();
        if (thread != Thread.currentThread() && left > 0) {
          thread.join(Duration.ofNanos(left).toMillis() + 1);
        }
      }
      return true;
    } catch (InterruptedException now) {
      return false;
    }
  }

  /** Ends the stream when every settlement is answered; returns false if interrupted. */
  private boolean leave(long deadline) {
    MessageConsumer.ResponseObserver leaving = current;
    if (leaving == null || leaving.requests == null) {
      return true;
    }
    try {
      boolean inTime = true;
      while (inTime && current == leaving && !leaving.isSettled()) {
        inTime = changed.awaitNanos(deadline - System.nanoTime()) > 0;
      }
      if (!leaving.halfClosed) {
        leaving.halfClosed = true;
        leaving.requests.onCompleted();
      }
      while (inTime && !leaving.over) {
        inTime = changed.awaitNanos(deadline - System.nanoTime()) > 0;
      }
      return true;
    } catch (InterruptedException now) {
      return false;
    } finally {
      current = null;
      if (!leaving.over) {
        leaving.requests.cancel("the consumer was closed", null);
      }
    }
  }

  /** Receives the responses of one stream. */
  private final class ResponseObserver implements StreamObserver<ConsumeResponse> {
    // Guarded by lock; null until the stream has started.
    private @Nullable ClientCallStreamObserver<ConsumeRequest> requests;
    private boolean drained;
    private boolean halfClosed;
    private boolean over;

    boolean isSettled() {
      return drained && settling.isEmpty() && unanswered.isEmpty();
    }

    @Override
    public void onNext(ConsumeResponse response) {
      switch (response.getResponseCase()) {
        case OPENED -> opened();
        case DELIVERIES -> delivered(this, response.getDeliveries().getDeliveriesList());
        case SETTLED -> settled(this, response.getSettled());
        case DRAINED -> drained(this);
        case RESPONSE_NOT_SET -> {
          // A response of a later protocol version.
        }
      }
    }

    @Override
    public void onError(Throwable failed) {
      lost(this, Errors.of(failed));
    }

    @Override
    public void onCompleted() {
      lost(this, new SluiceClientException(Code.UNAVAILABLE, "the server ended the stream"));
    }
  }
}
