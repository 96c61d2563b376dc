package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.server.fila.v1.ConsumeRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Requests beyond the transport limits are refused; other calls are not affected. */
@Timeout(60)
final class TransportLimitsTest {
  private static final int MAX_CONNECTIONS = 4;
  private static final int MAX_STREAMS = 3;
  private static final int MAX_REQUEST = 100_000;
  private static final int MAX_HEADER = 2_048;

  @TempDir private Path dir;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private final List<Socket> sockets = new ArrayList<>();
  private SluiceServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        SluiceServer.start(
            ServerConfig.defaults(dir)
                .withListen(ListenConfig.ANYWHERE)
                .withLimits(
                    new TransportConfig(
                        MAX_CONNECTIONS,
                        MAX_STREAMS,
                        MAX_REQUEST,
                        MAX_HEADER,
                        Duration.ofSeconds(5))));
  }

  @AfterEach
  void stop() throws IOException {
    channels.forEach(ManagedChannel::shutdownNow);
    for (Socket socket : sockets) {
      socket.close();
    }
    server.close();
  }

  private ManagedChannel channel() {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
    channels.add(channel);
    return channel;
  }

  private QueuesGrpc.QueuesBlockingStub queues() {
    return QueuesGrpc.newBlockingStub(channel());
  }

  private static void list(QueuesGrpc.QueuesBlockingStub queues) {
    assertThat(queues.listQueues(ListQueuesRequest.getDefaultInstance())).isNotNull();
  }

  private Socket connect(int port) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(15_000);
    sockets.add(socket);
    return socket;
  }

  private static boolean isClosedByServer(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketException reset) {
      return true;
    }
  }

  @Test
  void grpc_tooManyConnections_newOnesAreClosedAndOldOnesContinue() throws Exception {
    List<QueuesGrpc.QueuesBlockingStub> old = new ArrayList<>();
    for (int i = 0; i < MAX_CONNECTIONS; i++) {
      old.add(queues());
      list(old.get(i));
    }
    assertThat(server.grpcConnections()).isEqualTo(MAX_CONNECTIONS);
    for (int i = 0; i < 20; i++) {
      assertThat(isClosedByServer(connect(server.grpcPort()))).isTrue();
    }
    assertRefused(() -> list(queues()), Status.Code.UNAVAILABLE, "");
    old.forEach(TransportLimitsTest::list);
    channels.get(0).shutdownNow();
    await().until(() -> server.grpcConnections() < MAX_CONNECTIONS);
    list(queues());
  }

  @Test
  void http_tooManyConnections_newOnesAreClosedAndOldOnesContinue() throws Exception {
    List<Socket> old = new ArrayList<>();
    for (int i = 0; i < MAX_CONNECTIONS; i++) {
      old.add(connect(server.httpPort()));
      assertThat(ask(old.get(i))).isTrue();
    }
    assertThat(server.httpConnections()).isEqualTo(MAX_CONNECTIONS);
    for (int i = 0; i < 20; i++) {
      assertThat(isClosedByServer(connect(server.httpPort()))).isTrue();
    }
    for (Socket each : old) {
      assertThat(ask(each)).isTrue();
    }
    old.get(0).close();
    await().until(() -> server.httpConnections() < MAX_CONNECTIONS);
    assertThat(ask(connect(server.httpPort()))).isTrue();
  }

  /** Makes a call that needs a key where there are any; returns whether it is answered. */
  private static boolean ask(Socket socket) throws IOException {
    String request = "GET /v1/queues HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    StringBuilder answer = new StringBuilder();
    for (int next; answer.indexOf("]}") < 0 && (next = socket.getInputStream().read()) >= 0; ) {
      answer.append((char) next);
    }
    return answer.indexOf("HTTP/1.1 200") == 0;
  }

  @Test
  void idleConnectionsWithoutACall_areReplacedByNewOnes() throws Exception {
    var old = queues();
    list(old);
    Socket oldHttp = connect(server.httpPort());
    assertThat(ask(oldHttp)).isTrue();
    for (int i = 0; i < 3 * MAX_CONNECTIONS; i++) {
      connect(server.grpcPort());
      connect(server.httpPort());
    }
    list(queues());
    assertThat(ask(connect(server.httpPort()))).isTrue();
    list(old);
    assertThat(ask(oldHttp)).isTrue();
    assertThat(server.grpcConnections()).isLessThanOrEqualTo(MAX_CONNECTIONS);
    await().until(() -> server.httpConnections() <= MAX_CONNECTIONS);
  }

  @Test
  void grpc_largestRequest_passesAndALargerOneIsRefused() {
    var queues = queues();
    queues.createQueue(CreateQueueRequest.newBuilder().setName("q").build());
    assertThat(queues.enqueue(message(MAX_REQUEST - 100)).getIdsCount()).isEqualTo(1);
    assertRefused(
        () -> queues.enqueue(message(MAX_REQUEST)),
        Status.Code.RESOURCE_EXHAUSTED,
        "" + MAX_REQUEST);
    list(queues);
  }

  private static EnqueueRequest message(int bytes) {
    return EnqueueRequest.newBuilder()
        .setQueue("q")
        .addMessages(Message.newBuilder().setPayload(ByteString.copyFrom(new byte[bytes])))
        .build();
  }

  @Test
  void http_largestRequest_passesAndALargerOneIsRefused() {
    HttpProbe http = new HttpProbe(server.httpPort());
    http.post("/v1/queues", "{\"name\":\"q\"}");
    String around = "{\"payload\":\"%s\"}";
    String fits = "x".repeat(MAX_REQUEST - around.length() + 2);
    assertThat(http.post("/v1/queues/q/messages", around.formatted(fits)).status()).isEqualTo(200);
    var refused = postUntilAnswered(http, "/v1/queues/q/messages", around.formatted(fits + "x"));
    assertThat(refused.status()).isEqualTo(413);
    assertThat(refused.message()).contains("" + MAX_REQUEST);
  }

  /** The server does not read what is too large: a client still sending may not see the answer. */
  private static HttpProbe.Reply postUntilAnswered(HttpProbe http, String path, String body) {
    for (int i = 1; ; i++) {
      try {
        return http.post(path, body);
      } catch (CompletionException cutOff) {
        if (i == 20) {
          throw cutOff;
        }
      }
    }
  }

  @Test
  void grpc_largeHeaders_areRefused() {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("x-large", Metadata.ASCII_STRING_MARSHALLER), "x".repeat(2 * MAX_HEADER));
    var queues = queues();
    var large = queues.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    assertThat(KeyedServer.codeOf(() -> list(large)))
        .isIn(Status.Code.INTERNAL, Status.Code.UNKNOWN, Status.Code.RESOURCE_EXHAUSTED);
    list(queues);
  }

  @Test
  void http_largeHeaders_areRefused() throws IOException {
    Socket socket = connect(server.httpPort());
    socket
        .getOutputStream()
        .write(
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: "
                    + "x".repeat(2 * MAX_HEADER)
                    + "\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
    String status = new String(socket.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
    assertThat(status).startsWith("HTTP/1.1 4");
  }

  @Test
  void grpc_tooManyStreamsOfOneConnection_waitForTheirTurn() throws Exception {
    FilaClient fila = new FilaClient(channel());
    fila.create("q");
    List<FilaClient.Stream> streams = new ArrayList<>();
    for (int i = 0; i < MAX_STREAMS; i++) {
      streams.add(fila.consume("q"));
    }
    await().until(() -> server.openCalls() == MAX_STREAMS);
    assertRefused(
        () ->
            fila.messages
                .withDeadlineAfter(Duration.ofMillis(200))
                .consume(ConsumeRequest.newBuilder().setQueue("q").build())
                .hasNext(),
        Status.Code.DEADLINE_EXCEEDED,
        "");
    list(queues());
    streams.get(0).cancel();
    await().until(() -> server.openCalls() < MAX_STREAMS);
    assertThat(fila.stats("q").getDepth()).isZero();
  }
}
