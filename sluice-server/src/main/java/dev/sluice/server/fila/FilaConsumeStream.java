package dev.sluice.server.fila;

import dev.sluice.broker.Delivery;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.fila.v1.ConsumeResponse;
import dev.sluice.server.grpc.EarlyHeadersInterceptor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.services.DeliveryStream;
import dev.sluice.server.operations.QueueOperations;
import io.grpc.stub.ServerCallStreamObserver;
import java.util.List;

/**
 * A fila client's stream: it gets messages as fast as it reads them, settled or not.
 *
 * <p>These clients settle by calls of their own and by the id alone, so messages that were sent
 * stay leased when the stream ends: a client that has lost its connection still settles what it
 * works on, and the message of one that has crashed fails when its lease expires.
 */
final class FilaConsumeStream extends DeliveryStream<ConsumeResponse> {
  /** The most messages that wait to be sent. */
  private static final int PREFETCH = 64;

  private FilaConsumeStream(ServerCallStreamObserver<ConsumeResponse> call, OpenStreams streams) {
    super(call, streams);
  }

  static void open(
      QueueOperations queues,
      Caller caller,
      String queue,
      ServerCallStreamObserver<ConsumeResponse> call,
      OpenStreams streams) {
    FilaConsumeStream stream = new FilaConsumeStream(call, streams);
    try {
      stream.start(queues.consume(caller, queue, 0, stream));
    } catch (RuntimeException refused) {
      stream.fail(refused);
    }
  }

  private void start(MessageConsumer opened) {
    synchronized (this) {
      if (!begin(opened)) {
        return;
      }
      EarlyHeadersInterceptor.send();
    }
    opened.addCredit(PREFETCH);
  }

  @Override
  public void release(MessageConsumer from) {
    from.detach();
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    deliveries.forEach(each -> forward(List.of(each), one -> FilaProtoMapper.response(one.get(0))));
    MessageConsumer from = consumer();
    if (from != null && !hasEnded()) {
      from.addCredit(deliveries.size());
    }
  }
}
