package dev.sluice.server.grpc.services;

import dev.sluice.broker.QueueDefinition;
import dev.sluice.proto.v1.BrowseMessagesRequest;
import dev.sluice.proto.v1.BrowseMessagesResponse;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.CreateQueueResponse;
import dev.sluice.proto.v1.DeleteQueueRequest;
import dev.sluice.proto.v1.DeleteQueueResponse;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.GetQueueResponse;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.ListQueuesResponse;
import dev.sluice.proto.v1.PurgeQueueRequest;
import dev.sluice.proto.v1.PurgeQueueResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.ReceiveResponse;
import dev.sluice.proto.v1.RedriveRequest;
import dev.sluice.proto.v1.RedriveResponse;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.SettleResponse;
import dev.sluice.proto.v1.UpdateQueueRequest;
import dev.sluice.proto.v1.UpdateQueueResponse;
import dev.sluice.server.auth.Permission;
import dev.sluice.server.grpc.AuthenticationInterceptor;
import dev.sluice.server.grpc.OpenStreams;
import dev.sluice.server.grpc.RequestAdmission;
import dev.sluice.server.grpc.ResponseMemoryInterceptor;
import dev.sluice.server.grpc.UnaryCalls;
import dev.sluice.server.operations.IdFormat;
import dev.sluice.server.operations.QueueConfigFields;
import dev.sluice.server.operations.QueueOperations;
import dev.sluice.server.operations.WaitingReceive;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** {@code sluice.v1.Queues}. */
public final class QueueGrpcService extends QueuesGrpc.QueuesImplBase {
  private static final int DEFAULT_PEEK = 10;

  private final QueueOperations queues;
  private final OpenStreams streams;

  public QueueGrpcService(QueueOperations queues, OpenStreams streams) {
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
                () -> QueueProtoMapper.messages(request.getMessagesList())),
        ids -> EnqueueResponse.newBuilder().addAllIds(IdFormat.texts(ids)).build());
    // The call may wait for a script; the broker accounts for the messages meanwhile.
    RequestAdmission.parsed();
  }

  @Override
  public StreamObserver<EnqueueStreamRequest> enqueueStream(
      StreamObserver<EnqueueStreamResponse> call) {
    return new EnqueueStream(
        queues,
        AuthenticationInterceptor.key(),
        (ServerCallStreamObserver<EnqueueStreamResponse>) call,
        streams);
  }

  @Override
  public void receive(ReceiveRequest request, StreamObserver<ReceiveResponse> call) {
    ResponseMemoryBudget.Reservation room = ResponseMemoryInterceptor.part();
    UnaryCalls.answerLater(
        call,
        caller ->
            streams.endedWithServer(
                queues.receive(
                    AuthenticationInterceptor.key(),
                    request.getQueue(),
                    request.getMaxMessages() == 0 ? 1 : request.getMaxMessages(),
                    Duration.ofMillis(request.getWaitMs()),
                    room)),
        deliveries ->
            ReceiveResponse.newBuilder()
                .addAllDeliveries(deliveries.stream().map(QueueProtoMapper::delivery).toList())
                .build(),
        WaitingReceive::giveBack);
    RequestAdmission.parsed();
  }

  @Override
  public StreamObserver<ConsumeRequest> consume(StreamObserver<ConsumeResponse> call) {
    return new ConsumeStream(
        queues,
        AuthenticationInterceptor.key(),
        (ServerCallStreamObserver<ConsumeResponse>) call,
        streams);
  }

  @Override
  public void settle(SettleRequest request, StreamObserver<SettleResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller ->
            queues.settle(
                AuthenticationInterceptor.key(),
                request.getQueue(),
                () -> QueueProtoMapper.settlements(request.getSettlementsList()),
                RequestAdmission::hold),
        QueueGrpcService::settled);
  }

  private static SettleResponse settled(List<Optional<ApiException>> outcomes) {
    SettleResponse.Builder response = SettleResponse.newBuilder();
    for (Optional<ApiException> outcome : outcomes) {
      SettleResponse.Result.Builder result = SettleResponse.Result.newBuilder();
      outcome.ifPresent(failure -> result.setError(failure.toWire()));
      response.addResults(result);
    }
    return response.build();
  }

  @Override
  public void createQueue(CreateQueueRequest request, StreamObserver<CreateQueueResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          queues.create(
              caller, request.getName(), QueueProtoMapper.config(request.getConfig()).toConfig());
          return CreateQueueResponse.getDefaultInstance();
        });
  }

  @Override
  public void updateQueue(UpdateQueueRequest request, StreamObserver<UpdateQueueResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          // Checked first, so that a caller without permission learns nothing about the queue.
          queues.require(caller, Permission.Kind.ADMIN, request.getName());
          String revision =
              queues.update(
                  caller,
                  request.getName(),
                  QueueProtoMapper.change(request),
                  QueueProtoMapper.emptyToNull(request.getRevision()));
          return UpdateQueueResponse.newBuilder().setRevision(revision).build();
        });
  }

  @Override
  public void deleteQueue(DeleteQueueRequest request, StreamObserver<DeleteQueueResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          queues.delete(caller, request.getName(), null);
          return DeleteQueueResponse.getDefaultInstance();
        });
  }

  @Override
  public void getQueue(GetQueueRequest request, StreamObserver<GetQueueResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          QueueDefinition queue = queues.definition(caller, request.getName());
          return GetQueueResponse.newBuilder()
              .setConfig(QueueProtoMapper.config(queue.config()))
              .setRevision(queue.revision())
              .addAllHookThrottleKeys(QueueConfigFields.hookThrottleKeys(queue.config()))
              .setStats(QueueProtoMapper.stats(queues.stats(caller, request.getName()).stats()))
              .build();
        });
  }

  @Override
  public void listQueues(ListQueuesRequest request, StreamObserver<ListQueuesResponse> call) {
    UnaryCalls.answer(
        call,
        caller -> {
          ListQueuesResponse.Builder response = ListQueuesResponse.newBuilder();
          queues
              .list(caller)
              .forEach(
                  (name, stats) ->
                      response.addQueues(
                          ListQueuesResponse.Queue.newBuilder()
                              .setName(name)
                              .setDepth(stats.depth())
                              .setInFlight(stats.inFlight())
                              .setConsumers(stats.consumers())
                              .setTotals(QueueProtoMapper.totals(stats.totals()))
                              .setUnknownThrottleKeys(stats.unknownThrottleKeys())
                              .setLastUnknownThrottleKey(stats.lastUnknownThrottleKey())));
          return response.build();
        });
  }

  @Override
  public void purgeQueue(PurgeQueueRequest request, StreamObserver<PurgeQueueResponse> call) {
    UnaryCalls.answer(
        call,
        caller ->
            PurgeQueueResponse.newBuilder()
                .setPurged(queues.purge(caller, request.getName()))
                .build());
  }

  @Override
  public void browseMessages(
      BrowseMessagesRequest request, StreamObserver<BrowseMessagesResponse> call) {
    ResponseMemoryBudget.Reservation room = ResponseMemoryInterceptor.part();
    UnaryCalls.answerLater(
        call,
        caller ->
            CompletableFuture.completedFuture(
                queues.peek(caller, request.getQueue(), wanted(request), room)),
        messages ->
            BrowseMessagesResponse.newBuilder()
                .addAllMessages(messages.stream().map(QueueProtoMapper::stored).toList())
                .build());
  }

  private static QueueOperations.BrowseRequest wanted(BrowseMessagesRequest request) {
    return new QueueOperations.BrowseRequest(
        request.getFrom().isEmpty() ? null : IdFormat.id("from", request.getFrom()),
        request.getMaxMessages() == 0 ? DEFAULT_PEEK : request.getMaxMessages(),
        request.hasMaxPayloadBytes() ? request.getMaxPayloadBytes() : Integer.MAX_VALUE);
  }

  @Override
  public void redrive(RedriveRequest request, StreamObserver<RedriveResponse> call) {
    UnaryCalls.answerLater(
        call,
        caller ->
            streams.endedWithServer(
                queues.redrive(
                    AuthenticationInterceptor.key(),
                    request.getDeadLetterQueue(),
                    request.getCount(),
                    request.getRunHook())),
        redriven -> RedriveResponse.newBuilder().setRedriven(redriven).build());
    RequestAdmission.parsed();
  }
}
