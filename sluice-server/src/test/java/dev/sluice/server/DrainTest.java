package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Responses while a server drains, its duration, and the remains of a failed start. */
@Timeout(60)
final class DrainTest {
  private static final String BODY = "{\"payload\":\"half and half\"}";

  @TempDir private Path dir;
  private SluiceServer server;
  private ManagedChannel channel;

  private void start(Duration drain) throws IOException {
    TransportConfig all = TransportConfig.DEFAULTS;
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir)
                .withListen(ListenConfig.ANYWHERE)
                .withLimits(
                    new TransportConfig(
                        all.maxConnections(),
                        all.maxStreamsPerConnection(),
                        all.maxRequestBytes(),
                        all.maxHeaderBytes(),
                        drain)));
    channel = NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
    var made =
        QueuesGrpc.newBlockingStub(channel)
            .createQueue(CreateQueueRequest.newBuilder().setName("q").build());
    assertThat(made).isNotNull();
  }

  @AfterEach
  void stop() {
    if (channel != null) {
      channel.shutdownNow();
      server.close();
    }
  }

  /** A call of which the server has the headers, and waits for the rest. */
  private ClientCall<EnqueueRequest, EnqueueResponse> beginEnqueue(CompletableFuture<Status> end) {
    // The headers of a unary call are not sent before its end.
    var method = QueuesGrpc.getEnqueueMethod().toBuilder().setType(MethodType.BIDI_STREAMING);
    var call = channel.newCall(method.build(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            end.complete(status);
          }
        },
        new Metadata());
    call.request(2);
    return call;
  }

  private static EnqueueRequest enqueue(int bytes) {
    return EnqueueRequest.newBuilder()
        .setQueue("q")
        .addMessages(Message.newBuilder().setPayload(ByteString.copyFrom(new byte[bytes])))
        .build();
  }

  /** A request of which half the body is there. */
  private Socket beginPost() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
    socket.setSoTimeout(20_000);
    send(
        socket,
        "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Content-Length: %d\r\n\r\n".formatted(BODY.length()));
    send(socket, BODY.substring(0, 10));
    await().until(() -> server.httpRequests() == 1);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  private ServingStatus health() {
    return HealthGrpc.newBlockingStub(channel)
        .check(HealthCheckRequest.getDefaultInstance())
        .getStatus();
  }

  @Test
  void drain_refusesNewCalls_andCompletesRunningOnes() throws Exception {
    start(Duration.ofSeconds(20));
    CompletableFuture<Status> enqueued = new CompletableFuture<>();
    var call = beginEnqueue(enqueued);
    await().until(() -> server.openCalls() == 1);
    try (Socket post = beginPost()) {
      // Not on the common pool: it may have one thread, which Java's HTTP client needs too.
      CompletableFuture<Void> closed =
          CompletableFuture.runAsync(server::close, task -> new Thread(task).start());
      await().until(() -> health() == ServingStatus.NOT_SERVING);
      HttpProbe http = new HttpProbe(server.httpPort());
      await().until(() -> http.get("/readyz").status() == 503);
      assertThat(http.get("/readyz").code()).isEqualTo("UNAVAILABLE");
      assertThat(http.post("/v1/queues/q/messages", BODY).message())
          .isEqualTo("the server is closing");
      assertRefused(
          () ->
              QueuesGrpc.newBlockingStub(channel)
                  .listQueues(ListQueuesRequest.getDefaultInstance()),
          Status.Code.UNAVAILABLE,
          "closing");
      assertThat(closed).isNotDone();

      send(post, BODY.substring(10));
      assertThat(new String(post.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
          .contains("HTTP/1.1 200 OK");
      call.sendMessage(enqueue(1));
      call.halfClose();
      assertThat(enqueued.get(20, TimeUnit.SECONDS)).isEqualTo(Status.OK);
      closed.get(10, TimeUnit.SECONDS);
    }
  }

  @Test
  void clientsThatNeverEndOrRead_delayCloseNoLongerThanTheDrain() throws Exception {
    Duration drain = Duration.ofMillis(500);
    start(drain);
    for (int i = 0; i < 4; i++) {
      assertThat(QueuesGrpc.newBlockingStub(channel).enqueue(enqueue(4 << 20)).getIdsCount())
          .isEqualTo(1);
    }
    CompletableFuture<Status> never = new CompletableFuture<>();
    beginEnqueue(never).request(1);
    ClientCall<ConsumeRequest, ConsumeResponse> unread =
        channel.newCall(QueuesGrpc.getConsumeMethod(), CallOptions.DEFAULT);
    unread.start(new ClientCall.Listener<>() {}, new Metadata());
    unread.sendMessage(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(10))
            .build());
    await().until(() -> server.openStreams() == 1 && server.openCalls() == 2);
    try (Socket post = beginPost()) {
      long began = System.nanoTime();
      server.close();
      assertThat(Duration.ofNanos(System.nanoTime() - began))
          .isBetween(drain, drain.plusSeconds(1));
      assertThat(never.get(20, TimeUnit.SECONDS).isOk()).isFalse();
      assertThat(post.isClosed()).isFalse();
    }
    long again = System.nanoTime();
    server.close();
    assertThat(Duration.ofNanos(System.nanoTime() - again)).isLessThan(drain);
  }

  private static Set<Thread> threads() {
    Set<Thread> all = new HashSet<>(Thread.getAllStackTraces().keySet());
    all.removeIf(each -> each.getName().startsWith("awaitility"));
    return all;
  }

  @Test
  void failedStart_leavesNoThreadAndNoLock() throws Exception {
    ServerConfig config = ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE);
    SluiceServer.start(config).close();
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Set<Thread> before = threads();
      assertThatThrownBy(
              () ->
                  SluiceServer.start(
                      config.withListen(ListenConfig.ANYWHERE.withHttpPort(taken.getLocalPort()))))
          .isInstanceOf(IOException.class);
      await()
          .atMost(Duration.ofSeconds(10))
          .untilAsserted(
              () -> assertThat(threads()).filteredOn(each -> !before.contains(each)).isEmpty());
    }
    SluiceServer.start(config).close();
  }
}
