package dev.sluice.server;

import dev.sluice.broker.Consumer;
import dev.sluice.broker.Delivery;
import dev.sluice.server.fila.ConsumeResponse;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.List;

/**
 * A fila client's stream: it gets messages as fast as it reads them, settled or not.
 *
 * <p>These clients settle by calls of their own and by the id alone, so messages that were sent
 * stay leased when the stream ends: a client that has lost its connection still settles what it
 * works on, and the message of one that has crashed fails when its lease expires.
 */
final class FilaStream extends DeliveryStream<ConsumeResponse> {
  /** How many messages may wait to be sent. */
  private static final int PREFETCH = 64;

  private FilaStream(ServerCallStreamObserver<ConsumeResponse> call, OpenStreams streams) {
    super(call, streams);
  }

  static void open(
      QueueApi queues,
      Caller caller,
      String queue,
      ServerCallStreamObserver<ConsumeResponse> call,
      OpenStreams streams) {
    FilaStream stream = new FilaStream(call, streams);
    try {
      stream.start(queues.consume(caller, queue, 0, stream));
    } catch (RuntimeException refused) {
      stream.fail(refused);
    }
  }

  private void start(Consumer opened) {
    synchronized (this) {
      if (!begin(opened)) {
        return;
      }
      EarlyHeaders.send();
    }
    opened.addCredit(PREFETCH);
  }

  @Override
  void release(Consumer from) {
    from.detach();
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    deliveries.forEach(each -> sendWhenRead(List.of(each), one -> FilaWire.response(one.get(0))));
    Consumer from = consumer();
    if (from != null && !hasEnded()) {
      from.addCredit(deliveries.size());
    }
  }
}
