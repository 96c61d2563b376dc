package dev.sluice.server.fila;

import dev.sluice.broker.Message;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.Permission.Kind;
import dev.sluice.server.fila.v1.AckRequest;
import dev.sluice.server.fila.v1.AckResponse;
import dev.sluice.server.fila.v1.ConsumeRequest;
import dev.sluice.server.fila.v1.ConsumeResponse;
import dev.sluice.server.fila.v1.EnqueueRequest;
import dev.sluice.server.fila.v1.EnqueueResponse;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import dev.sluice.server.fila.v1.NackRequest;
import dev.sluice.server.fila.v1.NackResponse;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.RequestAdmission;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.operations.QueueOperations.Action;
import dev.sluice.server.operations.QueueOperations.Settlement;
import dev.sluice.server.support.ApiException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** {@code fila.v1.FilaService}: messages, for clients of fila. */
public final class FilaMessageService extends FilaServiceGrpc.FilaServiceImplBase {
  private final QueueOperations queues;
  private final OpenStreams streams;

  public FilaMessageService(QueueOperations queues, OpenStreams streams) {
    this.queues = queues;
    this.streams = streams;
  }

  @Override
  public void enqueue(EnqueueRequest request, StreamObserver<EnqueueResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller ->
            queues.enqueue(
                AuthenticationInterceptor.key(),
                request.getQueue(),
                () -> List.of(message(request))),
        ids -> EnqueueResponse.newBuilder().setMessageId(ids.get(0).toString()).build());
    // A script may keep it waiting; the broker counts the message.
    RequestAdmission.parsed();
  }

  private static Message message(EnqueueRequest request) {
    return Message.of(request.getPayload().toByteArray()).withHeaders(request.getHeadersMap());
  }

  @Override
  public void consume(ConsumeRequest request, StreamObserver<ConsumeResponse> call) {
    FilaConsumeStream.open(
        queues,
        AuthenticationInterceptor.caller(),
        request.getQueue(),
        (ServerCallStreamObserver<ConsumeResponse>) call,
        streams);
    RequestAdmission.parsed();
  }

  @Override
  public void ack(AckRequest request, StreamObserver<AckResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller -> settle(caller, request.getQueue(), request.getMessageId(), new Action.Ack()),
        done -> AckResponse.getDefaultInstance());
  }

  @Override
  public void nack(NackRequest request, StreamObserver<NackResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller ->
            settle(
                caller,
                request.getQueue(),
                request.getMessageId(),
                new Action.Nack(request.getError(), null)),
        done -> NackResponse.getDefaultInstance());
  }

  /** Settles a message under its current lease, because these clients have no lease tokens. */
  private CompletableFuture<Void> settle(
      Caller caller, String queue, String messageId, Action action) {
    queues.require(caller, Kind.CONSUME, queue);
    if (messageId.isEmpty()) {
      throw ApiException.invalid("message_id must not be empty");
    }
    Settlement settlement = new Settlement(IdFormat.id(messageId), null, action);
    return queues
        .settle(
            AuthenticationInterceptor.key(),
            queue,
            () -> List.of(settlement),
            RequestAdmission::hold)
        .thenAccept(FilaMessageService::requireDone);
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
