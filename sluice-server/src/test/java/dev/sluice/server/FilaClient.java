package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import dev.sluice.server.fila.v1.AckRequest;
import dev.sluice.server.fila.v1.ConsumeRequest;
import dev.sluice.server.fila.v1.ConsumeResponse;
import dev.sluice.server.fila.v1.CreateQueueRequest;
import dev.sluice.server.fila.v1.EnqueueRequest;
import dev.sluice.server.fila.v1.EnqueueResponse;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import dev.sluice.server.fila.v1.GetStatsRequest;
import dev.sluice.server.fila.v1.GetStatsResponse;
import dev.sluice.server.fila.v1.Message;
import dev.sluice.server.fila.v1.NackRequest;
import dev.sluice.server.fila.v1.QueueConfig;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A stock client of fila: nothing but what is generated from its protocol. */
final class FilaClient {
  private final ManagedChannel channel;
  final FilaServiceGrpc.FilaServiceBlockingStub messages;
  private final FilaServiceGrpc.FilaServiceFutureStub messagesLater;
  final FilaAdminGrpc.FilaAdminBlockingStub admin;

  FilaClient(ManagedChannel channel) {
    this.channel = channel;
    messages = FilaServiceGrpc.newBlockingStub(channel);
    messagesLater = FilaServiceGrpc.newFutureStub(channel);
    admin = FilaAdminGrpc.newBlockingStub(channel);
  }

  void create(String queue) {
    create(queue, "", "");
  }

  void create(String queue, String onEnqueue, String onFailure) {
    var response =
        admin.createQueue(
            CreateQueueRequest.newBuilder()
                .setName(queue)
                .setConfig(
                    QueueConfig.newBuilder()
                        .setOnEnqueueScript(onEnqueue)
                        .setOnFailureScript(onFailure))
                .build());
    assertThat(response.getQueueId()).isEqualTo(queue);
  }

  String enqueue(String queue, String payload) {
    return enqueue(queue, payload, Map.of());
  }

  String enqueue(String queue, String payload, Map<String, String> headers) {
    return messages
        .enqueue(
            EnqueueRequest.newBuilder()
                .setQueue(queue)
                .setPayload(ByteString.copyFromUtf8(payload))
                .putAllHeaders(headers)
                .build())
        .getMessageId();
  }

  /** Enqueues so many messages of that size at once. */
  void enqueue(String queue, int messages, int bytes) throws Exception {
    EnqueueRequest request =
        EnqueueRequest.newBuilder()
            .setQueue(queue)
            .setPayload(ByteString.copyFrom(new byte[bytes]))
            .build();
    List<ListenableFuture<EnqueueResponse>> begun = new ArrayList<>();
    for (int i = 0; i < messages; i++) {
      begun.add(messagesLater.enqueue(request));
    }
    for (var each : begun) {
      each.get(20, TimeUnit.SECONDS);
    }
  }

  void ack(String queue, String id) {
    messages.ack(AckRequest.newBuilder().setQueue(queue).setMessageId(id).build());
  }

  void nack(String queue, String id) {
    messages.nack(
        NackRequest.newBuilder().setQueue(queue).setMessageId(id).setError("no luck").build());
  }

  GetStatsResponse stats(String queue) {
    return admin.getStats(GetStatsRequest.newBuilder().setQueue(queue).build());
  }

  /** A stream that reads as fast as it can. */
  Stream consume(String queue) {
    return consume(queue, Integer.MAX_VALUE);
  }

  /** A stream that reads so many messages and then waits. */
  Stream consume(String queue, int initially) {
    Stream stream = new Stream(initially);
    FilaServiceGrpc.newStub(channel)
        .consume(ConsumeRequest.newBuilder().setQueue(queue).build(), stream);
    return stream;
  }

  /** The messages of a stream. */
  static final class Stream implements ClientResponseObserver<ConsumeRequest, ConsumeResponse> {
    private final int initially;
    private final Recorded<ConsumeResponse> answers = new Recorded<>();
    private final CompletableFuture<ClientCallStreamObserver<ConsumeRequest>> call =
        new CompletableFuture<>();

    private Stream(int initially) {
      this.initially = initially;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<ConsumeRequest> started) {
      started.disableAutoRequestWithInitial(initially);
      call.complete(started);
    }

    @Override
    public void onNext(ConsumeResponse response) {
      answers.onNext(response);
    }

    @Override
    public void onError(Throwable failure) {
      answers.onError(failure);
    }

    @Override
    public void onCompleted() {
      answers.onCompleted();
    }

    Message next() throws InterruptedException {
      return answers.next().getMessage();
    }

    boolean isEmpty() {
      return answers.isEmpty();
    }

    void request(int count) {
      call.join().request(count);
    }

    void cancel() {
      call.join().cancel("enough", null);
    }

    Status end() throws Exception {
      return answers.end();
    }
  }
}
