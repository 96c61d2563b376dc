package dev.sluice.server.grpc.services;

import dev.sluice.broker.Delivery;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.ConsumeResponse.Deliveries;
import dev.sluice.proto.v1.ConsumeResponse.Settled;
import dev.sluice.server.auth.Credential;
import dev.sluice.server.grpc.AccountCallExecutor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.RequestAdmission;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.Futures;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;

/**
 * One consumer's stream: settlements and their answers go on beside deliveries that have to wait.
 */
public final class ConsumeStream extends DeliveryStream<ConsumeResponse>
    implements StreamObserver<ConsumeRequest> {
  /** The most requests in flight to the broker. */
  private static final int WINDOW = 64;

  /** And how many settlements in them; one request may have more. */
  private static final int MAX_SETTLING = 20_000;

  /** A response is sent when it has so many bytes of payload. */
  private static final int MAX_RESPONSE_BYTES = MAX_READ_BYTES;

  private static final int MAX_PREFETCH = 100_000;

  private final QueueOperations queues;
  private final Credential key;
  private final StreamFlowControl requests;

  // Guarded by this; `settling` counts requests to drain as well.
  private boolean halfClosed;
  private int settling;
  private long unsettled;
  private boolean byCredit;

  public ConsumeStream(
      QueueOperations queues,
      Credential key,
      ServerCallStreamObserver<ConsumeResponse> call,
      OpenStreams streams) {
    super(call, streams);
    this.queues = queues;
    this.key = key;
    this.requests = new StreamFlowControl(call, this::mayAsk);
    requests.ask();
  }

  private synchronized boolean mayAsk() {
    return settling < WINDOW && unsettled < MAX_SETTLING && !hasEnded();
  }

  @Override
  void ready() {
    super.ready();
    requests.ask();
  }

  @Override
  public void onNext(ConsumeRequest request) {
    requests.arrived();
    try {
      switch (request.getRequestCase()) {
        case OPEN -> open(request.getOpen());
        case CREDIT -> credit(request.getCredit().getMessages());
        case SETTLE -> settle(request.getSettle());
        case DRAIN -> drain();
        case REQUEST_NOT_SET ->
            throw ApiException.invalid(
                "request must be one of open, credit, settle, drain, but was none");
      }
    } catch (RuntimeException refused) {
      fail(refused);
    }
    requests.ask();
  }

  private void open(ConsumeRequest.Open open) {
    QueueOperations.requireBetween("prefetch", open.getPrefetch() & 0xffffffffL, 0, MAX_PREFETCH);
    if (consumer() != null) {
      throw ApiException.invalid("open must come once: queue=" + open.getQueue());
    }
    MessageConsumer opened =
        queues.consume(key.caller(), open.getQueue(), open.getPrefetch(), this);
    synchronized (this) {
      byCredit = open.getPrefetch() == 0;
      if (!begin(opened)) {
        return;
      }
      send(
          ConsumeResponse.newBuilder()
              .setOpened(ConsumeResponse.Opened.getDefaultInstance())
              .build());
    }
    if (open.getPrefetch() == 0 && open.getCredit() > 0) {
      opened.addCredit(open.getCredit());
    }
  }

  private MessageConsumer requireOpened() {
    MessageConsumer known = consumer();
    if (known == null) {
      throw ApiException.invalid("open must come first");
    }
    return known;
  }

  private void credit(int messages) {
    requireOpened().addCredit(messages);
  }

  private void settle(ConsumeRequest.Settlements request) {
    MessageConsumer from = requireOpened();
    synchronized (this) {
      settling++;
      unsettled += request.getSettlementsCount();
    }
    Executor threads = AccountCallExecutor.forAnswer();
    Futures.when(
        queues.settle(
            key,
            from.queue(),
            () -> QueueProtoMapper.settlements(request.getSettlementsList()),
            RequestAdmission::hold),
        outcomes ->
            Futures.make(
                outcomes,
                threads,
                () -> {
                  settled(request.getBatch(), outcomes);
                  requests.ask();
                }),
        this::fail);
  }

  /** Deliveries are claimed and sent under one lock, so none is sent after the answer. */
  private void drain() {
    MessageConsumer from = requireOpened();
    synchronized (this) {
      settling++;
    }
    Futures.when(
        from.drain(),
        drained -> {
          drained();
          requests.ask();
        },
        this::fail);
  }

  private synchronized void drained() {
    settling--;
    send(
        ConsumeResponse.newBuilder()
            .setDrained(ConsumeResponse.Drained.getDefaultInstance())
            .build());
    completeIfSettled();
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
    unsettled -= outcomes.size();
    if (!hasEnded()) {
      send(ConsumeResponse.newBuilder().setSettled(settled).build());
      completeIfSettled();
    }
  }

  @Override
  public void handle(List<Delivery> deliveries) {
    int from = 0;
    long bytes = 0;
    for (int i = 0; i < deliveries.size(); i++) {
      int size = deliveries.get(i).payload().length;
      if (i > from && bytes + size > MAX_RESPONSE_BYTES) {
        forward(deliveries.subList(from, i), ConsumeStream::response);
        from = i;
        bytes = 0;
      }
      bytes += size;
    }
    forward(deliveries.subList(from, deliveries.size()), ConsumeStream::response);
  }

  private static ConsumeResponse response(List<Delivery> deliveries) {
    Deliveries.Builder batch = Deliveries.newBuilder();
    deliveries.forEach(each -> batch.addDeliveries(QueueProtoMapper.delivery(each)));
    return ConsumeResponse.newBuilder().setDeliveries(batch).build();
  }

  /** Renews the credit of a stream without a prefetch; otherwise the broker renews it. */
  @Override
  void outdated(int messages) {
    MessageConsumer from = consumer();
    if (byCredit && from != null) {
      from.addCredit(messages);
    }
  }

  @Override
  public void onError(Throwable gone) {
    leave();
  }

  /** Called when the client half-closes: it expects only answers to its settlements. */
  @Override
  public synchronized void onCompleted() {
    halfClosed = true;
    completeIfSettled();
  }

  private synchronized void completeIfSettled() {
    if (halfClosed && settling == 0) {
      complete();
    }
  }
}
