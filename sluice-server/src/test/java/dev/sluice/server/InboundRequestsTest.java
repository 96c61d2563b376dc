package dev.sluice.server;

import static dev.sluice.server.RawHttp2.data;
import static dev.sluice.server.RawHttp2.frame;
import static dev.sluice.server.RawHttp2.message;
import static dev.sluice.server.RawHttp2.open;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueResponse;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.ReceiveResponse;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.MinimumTransferRate;
import dev.sluice.server.transport.RequestMemoryBudget;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that do not end, or arrive too slowly, take no memory from other callers. */
@Tag("any-jdk")
@Timeout(120)
final class InboundRequestsTest {
  private static final String ENQUEUE = "/sluice.v1.Queues/Enqueue";
  private static final int MEBIBYTE = 1 << 20;
  private static final MinimumTransferRate PATIENT =
      new MinimumTransferRate(Duration.ofSeconds(60), 1_024);
  private static final MinimumTransferRate HASTY =
      new MinimumTransferRate(Duration.ofMillis(500), 1_024);

  @TempDir private Path dir;
  private final RequestMemoryBudget inbound = new RequestMemoryBudget(4 * MEBIBYTE);
  private final RequestMemoryBudget unread = new RequestMemoryBudget(8 * MEBIBYTE);
  private final List<AutoCloseable> connections = new ArrayList<>();
  private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    startWith(PATIENT);
  }

  private void startWith(MinimumTransferRate pace) throws IOException {
    MemoryBudgets memory =
        new MemoryBudgets(
            inbound, MemoryBudgets.ofHeap().work(), unread, MemoryBudgets.ofHeap().answers());
    server = new KeyedServer(dir, listen -> listen.withMemory(memory).withPace(pace));
    if (pace.equals(PATIENT)) {
      assertThat(queues().createQueue(CreateQueueRequest.newBuilder().setName("q").build()))
          .isNotNull();
    }
  }

  private void restartWith(MinimumTransferRate pace) throws IOException {
    server.close();
    startWith(pace);
  }

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable each : connections) {
      each.close();
    }
    server.close();
  }

  private QueuesGrpc.QueuesBlockingStub queues() {
    return server.queues(KeyedServer.BOOTSTRAP);
  }

  private long depth() {
    return queues()
        .getQueue(GetQueueRequest.newBuilder().setName("q").build())
        .getStats()
        .getDepth();
  }

  private static EnqueueRequest request(int bytes) {
    return EnqueueRequest.newBuilder()
        .setQueue("q")
        .addMessages(Message.newBuilder().setPayload(ByteString.copyFrom(new byte[bytes])))
        .build();
  }

  private RawHttp2 grpc() throws IOException {
    RawHttp2 connection = new RawHttp2(server.grpcPort());
    connections.add(connection);
    return connection;
  }

  private Socket http(String head) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort());
    connections.add(socket);
    socket.setSoTimeout(30_000);
    socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static String post(String path, String key, int length) {
    return "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
        .formatted(path, key, length);
  }

  private static String answer(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    for (int next; head.indexOf("\r\n\r\n") < 0 && (next = socket.getInputStream().read()) >= 0; ) {
      head.append((char) next);
    }
    return head.toString();
  }

  private void assertOthersAreServed() {
    assertThat(queues().enqueue(request(1_000)).getIdsCount()).isEqualTo(1);
    HttpProbe http = new HttpProbe(server.httpPort());
    assertThat(
            http.send(
                    http.request("/v1/queues/q/messages")
                        .header("Authorization", "Bearer " + KeyedServer.BOOTSTRAP)
                        .POST(
                            java.net.http.HttpRequest.BodyPublishers.ofString(
                                "{\"payload\":\"x\"}")))
                .status())
        .isEqualTo(200);
  }

  /** The call is answered with UNAVAILABLE or its message is stored, never both. */
  @Test
  void refusedCall_isNotExecuted() throws Exception {
    long before = depth();
    QueuesGrpc.QueuesFutureStub stub =
        QueuesGrpc.newFutureStub(server.with("Bearer " + KeyedServer.BOOTSTRAP));
    int stored = 0;
    int refused = 0;
    try (CapturedLog log = new CapturedLog()) {
      for (int round = 0; round < 10; round++) {
        List<Future<EnqueueResponse>> calls = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
          calls.add(stub.enqueue(request(150_000)));
        }
        for (Future<EnqueueResponse> call : calls) {
          if (isStored(call)) {
            stored++;
          } else {
            refused++;
          }
        }
      }
      assertThat(log.text()).doesNotContain("\tat ");
    }
    assertThat(refused).isPositive();
    assertThat(stored).isPositive();
    assertThat(depth() - before).isEqualTo(stored);
    await().until(() -> inbound.used() == 0);
  }

  private static boolean isStored(Future<EnqueueResponse> call) throws InterruptedException {
    try {
      return call.get().getIdsCount() == 1;
    } catch (ExecutionException refused) {
      assertThat(Status.fromThrowable(refused).getCode())
          .as(refused.toString())
          .isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(Status.fromThrowable(refused).getDescription()).contains("no memory for requests");
      return false;
    }
  }

  @Test
  void healthRequestsWithoutEnd_takeNothingOfTheBudget() throws IOException {
    byte[] check =
        HealthCheckRequest.newBuilder().setService("x".repeat(900)).build().toByteArray();
    for (int i = 0; i < 20; i++) {
      RawHttp2 connection = grpc();
      for (int stream = 1; stream < 40; stream += 2) {
        connection.send(open(stream, "/grpc.health.v1.Health/Check"), data(stream, message(check)));
      }
    }
    assertOthersAreServed();
    assertThat(inbound.used()).isZero();
  }

  @Test
  void callsWithoutAKey_takeNothingOfTheBudget() throws IOException {
    for (int i = 0; i < 10; i++) {
      RawHttp2 connection = grpc();
      for (int stream = 1; stream < 20; stream += 2) {
        connection.send(open(stream, ENQUEUE), data(stream, message(0, 200_000, new byte[60_000])));
      }
    }
    assertOthersAreServed();
    await().until(() -> inbound.used() == 0);
  }

  /** On as many connections as it likes; the rest of the budget is for others. */
  @Test
  void unfinishedRequestsOfOneKey_leaveHalfOfTheBudget() throws IOException {
    String key = server.create("produce:q").getSecret();
    for (int i = 0; i < 12; i++) {
      grpc()
          .send(
              open(1, ENQUEUE, "authorization", "Bearer " + key),
              data(1, message(0, MEBIBYTE, new byte[800_000])));
      http(post("/v1/queues/q/messages", key, MEBIBYTE)).getOutputStream().write(new byte[200_000]);
    }
    await().until(() -> inbound.used() > MEBIBYTE);
    assertThat(inbound.used()).isLessThanOrEqualTo(2 * MEBIBYTE);
    assertOthersAreServed();
  }

  /** Two keys can hold all of it; the largest request that is not complete has to go. */
  @Test
  void unfinishedCallsOfManyKeys_makeRoomForSmallerOnes() {
    List<Status> ends = new CopyOnWriteArrayList<>();
    for (int i = 0; i < 4; i++) {
      ManagedChannel connection =
          NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
      connections.add(connection::shutdownNow);
      Metadata key = new Metadata();
      key.put(
          Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
          "Bearer " + server.create("produce:q").getSecret());
      ClientCall<EnqueueRequest, EnqueueResponse> unfinished =
          connection.newCall(QueuesGrpc.getEnqueueMethod(), CallOptions.DEFAULT);
      unfinished.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              ends.add(status);
            }
          },
          key);
      unfinished.sendMessage(request(980_000));
    }
    await().until(() -> inbound.used() > 4 * 980_000);
    assertThat(queues().enqueue(request(300_000)).getIdsCount()).isEqualTo(1);
    await().until(() -> !ends.isEmpty());
    assertThat(ends)
        .singleElement()
        .satisfies(end -> assertThat(end.getCode()).isEqualTo(Status.Code.UNAVAILABLE));
    assertOthersAreServed();
    assertThat(depth()).isEqualTo(3);
  }

  @Test
  void evictedHttpBody_isAnswered() throws IOException {
    List<Socket> bodies = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      String key = server.create("produce:q").getSecret();
      long before = i * (2L * MEBIBYTE - 10);
      await("the request for the key to give back its bytes").until(() -> inbound.used() == before);
      Socket body = http(post("/v1/queues/q/messages", key, 3 * MEBIBYTE));
      body.getOutputStream().write(new byte[2 * MEBIBYTE - 10]);
      bodies.add(body);
      long held = (i + 1) * (2L * MEBIBYTE - 10);
      await().until(() -> inbound.used() == held);
    }
    assertOthersAreServed();
    await().until(() -> inbound.used() == 2L * MEBIBYTE - 10);
    String first = bodies.get(0).getInputStream().available() > 0 ? answer(bodies.get(0)) : "";
    String second = bodies.get(1).getInputStream().available() > 0 ? answer(bodies.get(1)) : "";
    assertThat(first + second).startsWith("HTTP/1.1 503").containsOnlyOnce("HTTP/1.1");
  }

  /** A client decides how long a poll waits. Together, these padded polls exceed the budget. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void completeWaitingRequests_holdNothingOfTheBudget(boolean overHttp) throws IOException {
    List<Future<ReceiveResponse>> polls = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      String key = server.create("consume:q").getSecret();
      if (overHttp) {
        String body = " ".repeat(900_000) + "{\"wait_ms\":30000}";
        http(post("/v1/queues/q/receive", key, body.length()) + body);
      } else {
        polls.add(
            QueuesGrpc.newFutureStub(server.with("Bearer " + key))
                .receive(
                    ReceiveRequest.newBuilder()
                        .setQueue("q")
                        .setWaitMs(30_000)
                        .setUnknownFields(padding(900_000))
                        .build()));
      }
      int waiting = i + 1;
      await().until(() -> consumers() == waiting);
    }
    assertThat(inbound.used()).isLessThan(100_000);
    assertOthersAreServed();
    polls.forEach(each -> each.cancel(true));
  }

  private static UnknownFieldSet padding(int bytes) {
    return UnknownFieldSet.newBuilder()
        .addField(
            1_000,
            UnknownFieldSet.Field.newBuilder()
                .addLengthDelimited(ByteString.copyFrom(new byte[bytes]))
                .build())
        .build();
  }

  private long consumers() {
    return queues()
        .getQueue(GetQueueRequest.newBuilder().setName("q").build())
        .getStats()
        .getConsumers();
  }

  /** Without a word on any of them: they cost memory all the same. */
  @Test
  void idleStreamsOfOneKey_leaveHalfOfTheBudget() throws IOException {
    String key = server.create().getSecret();
    for (int i = 0; i < 5; i++) {
      RawHttp2 connection = grpc();
      for (int stream = 1; stream < 400; stream += 2) {
        connection.send(
            open(stream, "/sluice.v1.Queues/Consume", "authorization", "Bearer " + key));
      }
    }
    await().until(() -> inbound.used() > MEBIBYTE);
    assertThat(inbound.used()).isLessThanOrEqualTo(2 * MEBIBYTE);
    assertOthersAreServed();
  }

  /** A message of very many pieces costs more than its bytes. */
  @Test
  void messageInTinyPieces_isRefusedBeforeItFillsTheHeap() throws IOException {
    RawHttp2 connection = grpc();
    connection.send(
        open(1, ENQUEUE, "authorization", "Bearer " + KeyedServer.BOOTSTRAP),
        frame(RawHttp2.DATA, 0, 1, message(0, 20 * MEBIBYTE, new byte[0])));
    connection.flood(RawHttp2.repeat(frame(RawHttp2.DATA, 0, 1, new byte[1]), 1_000), 60);
    assertThat(connection.await(RawHttp2.Frame::endsStream)).isNotNull();
    await().until(() -> inbound.used() == 0);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/sluice.v1.Queues/Enqueue", "/sluice.v1.Queues/EnqueueStream"})
  void grpcRequestThatStalls_isRefused(String method) throws IOException {
    restartWith(HASTY);
    RawHttp2 connection = grpc();
    connection.send(
        open(1, method, "authorization", "Bearer " + KeyedServer.BOOTSTRAP),
        data(1, message(0, 1_000, new byte[100])));
    RawHttp2.Frame end = connection.await(RawHttp2.Frame::endsStream);
    assertThat(end).isNotNull();
    await().until(() -> inbound.used() == 0);
    assertOthersAreServed();
  }

  @Test
  void healthRequestThatStalls_isRefused() throws IOException {
    restartWith(HASTY);
    RawHttp2 connection = grpc();
    connection.send(open(1, "/grpc.health.v1.Health/Watch"));
    assertThat(connection.await(RawHttp2.Frame::endsStream)).isNotNull();
  }

  @Test
  void httpBodyThatStalls_endsTheConnection() throws IOException {
    restartWith(HASTY);
    Socket socket = http(post("/v1/queues/q/messages", KeyedServer.BOOTSTRAP, 1_000));
    socket.getOutputStream().write(new byte[100]);
    assertThat(answer(socket)).isEmpty();
    await().until(() -> inbound.used() == 0);
  }

  /** Slowly, but fast enough: each piece buys the time until the next. */
  @Test
  void slowRequests_aboveTheMinimumPace_areServed() throws Exception {
    restartWith(HASTY);
    byte[] body =
        ("{\"payload\":\"" + "x".repeat(9_000) + "\"}").getBytes(StandardCharsets.US_ASCII);
    Socket socket = http(post("/v1/queues/q/messages", KeyedServer.BOOTSTRAP, body.length));
    RawHttp2 connection = grpc();
    byte[] sent = message(request(9_000).toByteArray());
    connection.send(open(1, ENQUEUE, "authorization", "Bearer " + KeyedServer.BOOTSTRAP));
    int pieces = 3;
    for (int i = 0; i < pieces; i++) {
      socket.getOutputStream().write(part(body, i, pieces));
      boolean last = i == pieces - 1;
      connection.send(frame(RawHttp2.DATA, last ? 1 : 0, 1, part(sent, i, pieces)));
      if (!last) {
        Thread.sleep(700);
      }
    }
    assertThat(answer(socket)).startsWith("HTTP/1.1 200");
    RawHttp2.Frame end = connection.await(RawHttp2.Frame::endsStream);
    assertThat(end).isNotNull();
    assertThat(end.type()).isEqualTo(RawHttp2.HEADERS);
    assertThat(depth()).isEqualTo(2);
  }

  private static byte[] part(byte[] all, int index, int of) {
    int from = all.length * index / of;
    return java.util.Arrays.copyOfRange(all, from, all.length * (index + 1) / of);
  }

  /** Without a permission for what the path names no body is read. */
  @ParameterizedTest
  @ValueSource(strings = {"consume:q", "produce:other", ""})
  void httpBody_withoutPermission_isRefusedBeforeItIsRead(String permission) throws IOException {
    String key =
        permission.isEmpty() ? server.create().getSecret() : server.create(permission).getSecret();
    await("the request for the key to give back its bytes").until(() -> inbound.used() == 0);
    Socket socket = http(post("/v1/queues/q/messages", key, MEBIBYTE));
    assertThat(answer(socket)).startsWith("HTTP/1.1 403");
    assertThat(inbound.used()).isZero();
  }

  /** A client that takes no answers is asked for no more requests, and sends on. */
  @Test
  void unreadBytes_areBoundedByConnection() throws IOException {
    RawHttp2 connection = grpc();
    byte[] noWindowForAnswers = {0, 4, 0, 0, 0, 0};
    connection.send(frame(RawHttp2.SETTINGS, 0, 0, noWindowForAnswers));
    byte[] batches = RawHttp2.repeat(message(new byte[0]), 40_000);
    for (int stream = 1; stream < 80; stream += 2) {
      connection.flood(
          RawHttp2.join(
              open(
                  stream,
                  "/sluice.v1.Queues/EnqueueStream",
                  "authorization",
                  "Bearer " + KeyedServer.BOOTSTRAP),
              data(stream, batches)),
          1);
      assertThat(unread.used()).isLessThanOrEqualTo(3 * MEBIBYTE);
    }
    assertThat(connection.untilClosed()).isNotEmpty();
    await().until(() -> unread.used() == 0);
    assertOthersAreServed();
  }
}
