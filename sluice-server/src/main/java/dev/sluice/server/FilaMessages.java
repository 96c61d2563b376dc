package dev.sluice.server;

import dev.sluice.broker.Message;
import dev.sluice.server.Permission.Kind;
import dev.sluice.server.QueueApi.Action;
import dev.sluice.server.QueueApi.Settlement;
import dev.sluice.server.fila.AckRequest;
import dev.sluice.server.fila.AckResponse;
import dev.sluice.server.fila.ConsumeRequest;
import dev.sluice.server.fila.ConsumeResponse;
import dev.sluice.server.fila.EnqueueRequest;
import dev.sluice.server.fila.EnqueueResponse;
import dev.sluice.server.fila.FilaServiceGrpc;
import dev.sluice.server.fila.NackRequest;
import dev.sluice.server.fila.NackResponse;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** {@code fila.v1.FilaService}: messages, for clients of fila. */
final class FilaMessages extends FilaServiceGrpc.FilaServiceImplBase {
  private final QueueApi queues;
  private final OpenStreams streams;

  FilaMessages(QueueApi queues, OpenStreams streams) {
    this.queues = queues;
    this.streams = streams;
  }

  @Override
  public void enqueue(EnqueueRequest request, StreamObserver<EnqueueResponse> call) {
    Calls.answerLater(
        call,
        caller -> queues.enqueue(caller, request.getQueue(), () -> List.of(message(request))),
        ids -> EnqueueResponse.newBuilder().setMessageId(ids.get(0).toString()).build());
    // A script may keep it waiting; the broker counts the message.
    InboundCalls.parsed();
  }

  private static Message message(EnqueueRequest request) {
    return Message.of(request.getPayload().toByteArray()).withHeaders(request.getHeadersMap());
  }

  @Override
  public void consume(ConsumeRequest request, StreamObserver<ConsumeResponse> call) {
    FilaStream.open(
        queues,
        Access.caller(),
        request.getQueue(),
        (ServerCallStreamObserver<ConsumeResponse>) call,
        streams);
    InboundCalls.parsed();
  }

  @Override
  public void ack(AckRequest request, StreamObserver<AckResponse> call) {
    Calls.answerLater(
        call,
        caller -> settle(caller, request.getQueue(), request.getMessageId(), new Action.Ack()),
        done -> AckResponse.getDefaultInstance());
  }

  @Override
  public void nack(NackRequest request, StreamObserver<NackResponse> call) {
    Calls.answerLater(
        call,
        caller ->
            settle(
                caller,
                request.getQueue(),
                request.getMessageId(),
                new Action.Nack(request.getError(), null)),
        done -> NackResponse.getDefaultInstance());
  }

  /** By whatever lease the message has: these clients know no tokens. */
  private CompletableFuture<Void> settle(
      Caller caller, String queue, String messageId, Action action) {
    queues.require(caller, Kind.CONSUME, queue);
    if (messageId.isEmpty()) {
      throw ApiException.invalid("message_id must not be empty");
    }
    Settlement settlement = new Settlement(Wire.id(messageId), null, action);
    return queues
        .settle(caller, queue, () -> List.of(settlement), InboundCalls::hold)
        .thenAccept(FilaMessages::requireDone);
  }

  private static void requireDone(List<Optional<ApiException>> outcomes) {
    outcomes
        .get(0)
        .ifPresent(
            refused -> {
              throw refused;
            });
  }
}
