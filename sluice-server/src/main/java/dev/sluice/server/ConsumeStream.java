package dev.sluice.server;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.Consumer;
import dev.sluice.broker.Delivery;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.ConsumeResponse.Deliveries;
import dev.sluice.proto.v1.ConsumeResponse.Settled;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One consumer's stream. Deliveries wait on a thread of the broker while the consumer does not
 * read; settlements and their answers go on beside them.
 */
final class ConsumeStream implements StreamObserver<ConsumeRequest>, Consumer.Handler {
  /** How many settlements may be on their way into the broker. */
  private static final int WINDOW = 64;

  /** A response is sent when it has so many bytes of payload. */
  private static final int MAX_RESPONSE_BYTES = 256 << 10;

  private static final int MAX_PREFETCH = 100_000;

  private final QueueApi queues;
  private final Caller caller;
  private final ServerCallStreamObserver<ConsumeResponse> call;

  // Guarded by this.
  private @Nullable Consumer consumer;
  private boolean ended;
  private boolean halfClosed;
  private int settling;

  ConsumeStream(QueueApi queues, Caller caller, ServerCallStreamObserver<ConsumeResponse> call) {
    this.queues = queues;
    this.caller = caller;
    this.call = call;
    call.disableAutoRequest();
    call.setOnCancelHandler(this::leave);
    call.setOnReadyHandler(this::wake);
    call.request(WINDOW);
  }

  private synchronized void wake() {
    notifyAll();
  }

  @Override
  public void onNext(ConsumeRequest request) {
    try {
      switch (request.getRequestCase()) {
        case OPEN -> open(request.getOpen());
        case CREDIT -> credit(request.getCredit().getMessages());
        case SETTLE -> settle(request.getSettle());
        case REQUEST_NOT_SET ->
            throw ApiException.invalid("request must be one of open, credit, settle: none");
      }
    } catch (RuntimeException refused) {
      fail(refused);
    }
  }

  private void open(ConsumeRequest.Open open) {
    QueueApi.requireBetween("prefetch", open.getPrefetch() & 0xffffffffL, 0, MAX_PREFETCH);
    if (opened() != null) {
      throw ApiException.invalid("open must come once: queue=" + open.getQueue());
    }
    Consumer opened = queues.consume(caller, open.getQueue(), open.getPrefetch(), this);
    synchronized (this) {
      if (ended) {
        opened.close();
        return;
      }
      consumer = opened;
      call.onNext(
          ConsumeResponse.newBuilder()
              .setOpened(ConsumeResponse.Opened.getDefaultInstance())
              .build());
      notifyAll();
    }
    if (open.getPrefetch() == 0 && open.getCredit() > 0) {
      opened.addCredit(open.getCredit());
    }
    call.request(1);
  }

  private synchronized @Nullable Consumer opened() {
    return consumer;
  }

  private Consumer requireOpened() {
    Consumer known = opened();
    if (known == null) {
      throw ApiException.invalid("open must come first");
    }
    return known;
  }

  private void credit(int messages) {
    requireOpened().addCredit(messages);
    call.request(1);
  }

  private void settle(ConsumeRequest.Settlements request) {
    Consumer from = requireOpened();
    synchronized (this) {
      settling++;
    }
    Later.when(
        queues.settle(caller, from.queue(), Wire.settlements(request.getSettlementsList())),
        outcomes -> settled(request.getBatch(), outcomes),
        this::fail);
  }

  private synchronized void settled(long batch, List<Optional<ApiException>> outcomes) {
    Settled.Builder settled = Settled.newBuilder().setBatch(batch);
    for (int i = 0; i < outcomes.size(); i++) {
      int index = i;
      outcomes
          .get(i)
          .ifPresent(
              failure ->
                  settled.addFailures(
                      ConsumeResponse.Failure.newBuilder()
                          .setIndex(index)
                          .setError(failure.toWire())));
    }
    settling--;
    if (!ended) {
      call.onNext(ConsumeResponse.newBuilder().setSettled(settled).build());
      call.request(1);
      complete();
    }
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    Deliveries.Builder batch = Deliveries.newBuilder();
    long bytes = 0;
    for (Delivery delivery : deliveries) {
      dev.sluice.proto.v1.Delivery wire = Wire.delivery(delivery);
      if (bytes > 0 && bytes + wire.getPayload().size() > MAX_RESPONSE_BYTES) {
        send(batch);
        batch = Deliveries.newBuilder();
        bytes = 0;
      }
      batch.addDeliveries(wire);
      bytes += wire.getPayload().size();
    }
    send(batch);
  }

  /** Waits until the consumer has read what was sent before. */
  private synchronized void send(Deliveries.Builder batch) {
    try {
      while (!ended && (consumer == null || !call.isReady())) {
        wait();
      }
      if (!ended) {
        call.onNext(ConsumeResponse.newBuilder().setDeliveries(batch).build());
      }
    } catch (InterruptedException closing) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void ended(BrokerException why) {
    fail(why);
  }

  private synchronized void fail(Throwable why) {
    if (!ended) {
      end();
      call.onError(ApiException.of(why).toStatus());
    }
  }

  /** The client is gone: what it had goes to others at once. */
  private synchronized void leave() {
    if (!ended) {
      end();
    }
  }

  private synchronized void end() {
    ended = true;
    notifyAll();
    if (consumer != null) {
      consumer.close();
    }
  }

  @Override
  public void onError(Throwable gone) {
    leave();
  }

  /** The client wants no more, but for the answers to what it has settled. */
  @Override
  public synchronized void onCompleted() {
    halfClosed = true;
    complete();
  }

  private synchronized void complete() {
    if (halfClosed && settling == 0 && !ended) {
      end();
      call.onCompleted();
    }
  }
}
