package dev.sluice.server.grpc.services;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.support.ApiException;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A stream of deliveries to one client. They wait in the broker, unread, while the client does not
 * read, so that a slow one costs neither memory nor a thread; when the stream ends, however it
 * does, messages that were never sent go to others at once, and {@link #release} decides about the
 * others.
 *
 * <p>A message is claimed by {@link Delivery#markForwarded} right before it is handed to the
 * transport, under the lock that also ends the stream. So when the stream ends, each message either
 * was handed over, and its throttle tokens are spent, or never will be, and the broker gives them
 * back.
 *
 * @param <R> the response messages
 */
public abstract class DeliveryStream<R> implements MessageConsumer.Handler, OpenStreams.Stream {
  /** The most bytes of payloads to read at once; a larger message is read alone. */
  static final int MAX_READ_BYTES = 256 << 10;

  private final ServerCallStreamObserver<R> call;
  private final OpenStreams streams;

  // Guarded by this.
  private @Nullable MessageConsumer consumer;
  private boolean ended;

  public DeliveryStream(ServerCallStreamObserver<R> call, OpenStreams streams) {
    this.call = call;
    this.streams = streams;
    call.setOnCancelHandler(this::leave);
    call.setOnReadyHandler(this::ready);
    streams.add(this);
  }

  /** The client has read what was sent, or most of it. */
  void ready() {
    MessageConsumer known = consumer();
    if (known != null) {
      known.resume();
    }
  }

  /** Lets deliveries of {@code opened} through; false if the stream has ended meanwhile. */
  public final synchronized boolean begin(MessageConsumer opened) {
    if (ended) {
      opened.close();
      return false;
    }
    consumer = opened;
    opened.resume();
    return true;
  }

  /** Null before the stream has begun. */
  public final synchronized @Nullable MessageConsumer consumer() {
    return consumer;
  }

  public final synchronized boolean hasEnded() {
    return ended;
  }

  /** Sends an answer, of which there are few that the client has not read. */
  final synchronized void send(R answer) {
    if (!ended) {
      UnaryCalls.unlessGone(call, () -> call.onNext(answer));
    }
  }

  /** Returns true: messages count as delivered when they are handed to the transport. */
  @Override
  public final boolean forwards() {
    return true;
  }

  /** Messages are not read for a client that has not read those before them. */
  @Override
  public final synchronized long payloadBudget(long waitingBytes) {
    boolean unready = consumer == null || !call.isReady();
    return unready && !ended ? NOT_NOW : MAX_READ_BYTES;
  }

  /**
   * Sends those of {@code deliveries} whose lease has not ended meanwhile; does nothing if the
   * client has disconnected.
   *
   * @param toAnswer makes the answer that carries them
   */
  public final synchronized void forward(
      List<Delivery> deliveries, Function<List<Delivery>, R> toAnswer) {
    if (ended || call.isCancelled()) {
      return;
    }
    List<Delivery> current = deliveries.stream().filter(Delivery::markForwarded).toList();
    if (!current.isEmpty()) {
      send(toAnswer.apply(current));
    }
    if (current.size() < deliveries.size()) {
      outdated(deliveries.size() - current.size());
    }
  }

  /** Called with the number of messages that were not sent because their leases had ended. */
  void outdated(int messages) {}

  @Override
  public final void ended(BrokerException why) {
    fail(why);
  }

  @Override
  public final synchronized void fail(Throwable why) {
    if (!ended) {
      end();
      call.onError(ApiException.of(why).toStatus());
    }
  }

  /** Ends the stream, because the client has disconnected. */
  final synchronized void leave() {
    if (!ended) {
      end();
    }
  }

  /** Completes the stream; nothing more is sent. */
  final synchronized void complete() {
    if (!ended) {
      end();
      call.onCompleted();
    }
  }

  private synchronized void end() {
    ended = true;
    streams.remove(this);
    if (consumer != null) {
      release(consumer);
    }
  }

  /** Called at the end: unless overridden, returns unsettled deliveries to the queue. */
  public void release(MessageConsumer from) {
    from.close();
  }
}
