package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.CreateApiKeyRequest;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueueStats;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.ReceiveResponse;
import dev.sluice.proto.v1.SetPermissionsRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls that wait for messages or for their request body while their key changes. */
@Tag("any-jdk")
@Timeout(90)
final class KeyedWaitsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @TempDir Path dir;
  private KeyedServer server;
  private HttpProbe http;
  private CreateApiKeyResponse key;

  @BeforeEach
  void start() throws Exception {
    server = new KeyedServer(dir);
    http = new HttpProbe(server.httpPort());
    var queue = CreateQueueRequest.newBuilder().setName("q").build();
    assertThat(server.queues(BOOTSTRAP).createQueue(queue)).isNotNull();
    CreateApiKeyRequest.Builder wanted = KeyedServer.request("consume:q", "produce:q");
    key =
        server
            .admin(BOOTSTRAP)
            .createApiKey(wanted.setExpiresAtMs(server.nowMs.get() + 1_000).build());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  /** A change of an API key, and the error of a waiting call after it. */
  private enum Change {
    REVOKED(Code.UNAUTHENTICATED, 401),
    CHANGED(Code.UNAVAILABLE, 503),
    EXPIRED(Code.UNAUTHENTICATED, 401);

    final Code code;
    final int status;

    Change(Code code, int status) {
      this.code = code;
      this.status = status;
    }
  }

  private void make(Change change) {
    switch (change) {
      case REVOKED -> server.revoke(key.getId());
      case CHANGED -> {
        var nothing = SetPermissionsRequest.newBuilder().setId(key.getId()).build();
        assertThat(server.admin(BOOTSTRAP).setPermissions(nothing)).isNotNull();
      }
      default -> server.nowMs.addAndGet(1_000);
    }
  }

  private QueueStats stats() {
    return server
        .queues(BOOTSTRAP)
        .getQueue(GetQueueRequest.newBuilder().setName("q").build())
        .getStats();
  }

  private static EnqueueRequest message() {
    return EnqueueRequest.newBuilder()
        .setQueue("q")
        .addMessages(Message.getDefaultInstance())
        .build();
  }

  private void enqueue() {
    assertThat(server.queues(BOOTSTRAP).enqueue(message()).getIdsCount()).isEqualTo(1);
  }

  private void awaitConsumer() {
    await().atMost(PATIENCE).until(() -> stats().getConsumers() == 1);
  }

  /** The message was not delivered: the next receiver gets it. */
  private void requireMessageIsThere() {
    ReceiveRequest next = ReceiveRequest.newBuilder().setQueue("q").setWaitMs(20_000).build();
    ReceiveResponse received = server.queues(BOOTSTRAP).receive(next);
    assertThat(received.getDeliveriesCount()).isEqualTo(1);
    assertThat(received.getDeliveries(0).getAttempts()).isLessThanOrEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void longPollOverHttp_endsWithoutAMessage(Change change) {
    CompletableFuture<HttpProbe.Reply> poll =
        http.sendLater(
            http.request("/v1/queues/q/receive")
                .timeout(PATIENCE)
                .header("Authorization", "Bearer " + key.getSecret())
                .POST(BodyPublishers.ofString("{\"wait_ms\":30000}")));
    awaitConsumer();
    make(change);
    enqueue();
    assertThat(poll.join().status()).isEqualTo(change.status);
    requireMessageIsThere();
  }

  @ParameterizedTest
  @EnumSource
  void longPollOverGrpc_endsWithoutAMessage(Change change) throws Exception {
    Recorded<ReceiveResponse> poll = new Recorded<>();
    QueuesGrpc.newStub(server.with("Bearer " + key.getSecret()))
        .receive(ReceiveRequest.newBuilder().setQueue("q").setWaitMs(30_000).build(), poll);
    awaitConsumer();
    make(change);
    enqueue();
    assertThat(poll.end().getCode()).isEqualTo(change.code);
    assertThat(poll.isEmpty()).isTrue();
    requireMessageIsThere();
  }

  @ParameterizedTest
  @EnumSource
  void consumer_endsWithoutAMessage(Change change) throws Exception {
    Recorded<ConsumeResponse> stream = new Recorded<>();
    var requests = QueuesGrpc.newStub(server.with("Bearer " + key.getSecret())).consume(stream);
    requests.onNext(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(1))
            .build());
    assertThat(stream.next().hasOpened()).isTrue();
    make(change);
    enqueue();
    assertThat(stream.end().getCode()).isEqualTo(change.code);
    assertThat(stream.isEmpty()).isTrue();
    requireMessageIsThere();
  }

  @ParameterizedTest
  @EnumSource
  void producer_endsAndStoresNoMore(Change change) throws Exception {
    Recorded<EnqueueStreamResponse> stream = new Recorded<>();
    var requests =
        QueuesGrpc.newStub(server.with("Bearer " + key.getSecret())).enqueueStream(stream);
    EnqueueStreamRequest batch =
        EnqueueStreamRequest.newBuilder()
            .setQueue("q")
            .addMessages(Message.getDefaultInstance())
            .build();
    requests.onNext(batch);
    assertThat(stream.next().getIdsCount()).isEqualTo(1);
    make(change);
    requests.onNext(batch);
    assertThat(stream.end().getCode()).isEqualTo(change.code);
    assertThat(stats().getDepth()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void grpcRequestThatComesAfterTheChange_isRefused(Change change) throws Exception {
    CompletableFuture<Status> end = new CompletableFuture<>();
    ClientCall<EnqueueRequest, ?> call =
        server
            .with("Bearer " + key.getSecret())
            .newCall(
                // Else the client sends the headers with the request.
                QueuesGrpc.getEnqueueMethod().toBuilder()
                    .setType(MethodType.BIDI_STREAMING)
                    .build(),
                CallOptions.DEFAULT);
    call.start(ending(end), new Metadata());
    await().atMost(PATIENCE).until(() -> server.openCalls() == 1);
    make(change);
    call.request(2);
    call.sendMessage(message());
    call.halfClose();
    assertThat(end.get(30, TimeUnit.SECONDS).getCode()).isEqualTo(change.code);
    assertThat(stats().getDepth()).isZero();
  }

  private static <T> ClientCall.Listener<T> ending(CompletableFuture<Status> end) {
    return new ClientCall.Listener<>() {
      @Override
      public void onClose(Status status, Metadata trailers) {
        end.complete(status);
      }
    };
  }

  @ParameterizedTest
  @EnumSource
  void httpBodyThatComesAfterTheChange_isRefused(Change change) throws Exception {
    String body = "{\"payload\":\"x\"}";
    String head =
        """
        POST /v1/queues/q/messages HTTP/1.1\r
        Host: localhost\r
        Authorization: Bearer %s\r
        Expect: 100-continue\r
        Content-Length: %d\r
        \r
        """;
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
        BufferedReader in =
            new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8))) {
      socket.setSoTimeout(30_000);
      socket
          .getOutputStream()
          .write(head.formatted(key.getSecret(), body.length()).getBytes(UTF_8));
      // The key is good, and the body is awaited.
      assertThat(in.readLine()).contains("100");
      while (!in.readLine().isEmpty()) {
        // Header fields.
      }
      make(change);
      socket.getOutputStream().write(body.getBytes(UTF_8));
      assertThat(in.readLine()).contains(Integer.toString(change.status));
    }
    assertThat(stats().getDepth()).isZero();
  }

  @Test
  void finishedCalls_areRemoved() {
    for (int i = 0; i < 10; i++) {
      ReceiveRequest none = ReceiveRequest.newBuilder().setQueue("q").build();
      assertThat(server.queues(key.getSecret()).receive(none).getDeliveriesCount()).isZero();
    }
    await().atMost(PATIENCE).until(() -> server.watchedCalls() == 0);
  }
}
