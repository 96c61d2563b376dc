package dev.sluice.server;

import static dev.sluice.server.RawHttp2.data;
import static dev.sluice.server.RawHttp2.frame;
import static dev.sluice.server.RawHttp2.message;
import static dev.sluice.server.RawHttp2.open;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.BrowseMessagesRequest;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.ResponseMemoryBudget;
import io.grpc.Status;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Answers count against the memory for answers until they have left the process. */
@Tag("any-jdk")
@Timeout(120)
final class UnreadAnswersTest {
  private static final int MEBIBYTE = 1 << 20;
  private static final int MAX = 16 * MEBIBYTE;
  private static final byte[] NO_WINDOW = {0, 4, 0, 0, 0, 0};
  private static final String BROWSE = "/sluice.v1.Queues/BrowseMessages";
  private static final String GET_QUEUE = "/sluice.v1.Queues/GetQueue";
  private static final String CONSUME = "/sluice.v1.Queues/Consume";

  @TempDir private Path dir;

  /** A manual clock: no answer is overdue before a test advances it. */
  private final AtomicLong now = new AtomicLong();

  private final ResponseMemoryBudget answers = new ResponseMemoryBudget(MAX, now::get);
  private final List<Socket> sockets = new ArrayList<>();
  private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    MemoryBudgets usual = MemoryBudgets.ofHeap();
    MemoryBudgets memory =
        new MemoryBudgets(usual.inbound(), usual.work(), usual.unread(), answers);
    server = new KeyedServer(dir, listen -> listen.withMemory(memory));
    // More than the system buffers for a client that does not read.
    fill("a.q", 8);
    fill("b.q", 8);
    fill("good", 1);
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket each : sockets) {
      each.close();
    }
    server.close();
  }

  private QueuesGrpc.QueuesBlockingStub operator() {
    return server.queues(KeyedServer.BOOTSTRAP);
  }

  private void fill(String queue, int messages) {
    var made = operator().createQueue(CreateQueueRequest.newBuilder().setName(queue).build());
    assertThat(made).isNotNull();
    Message message =
        Message.newBuilder().setPayload(ByteString.copyFrom(new byte[MEBIBYTE - 1_000])).build();
    assertThat(enqueue(queue, Collections.nCopies(messages, message))).isEqualTo(messages);
  }

  private int enqueue(String queue, List<Message> messages) {
    return operator()
        .enqueue(EnqueueRequest.newBuilder().setQueue(queue).addAllMessages(messages).build())
        .getIdsCount();
  }

  /** A client that lets the server send no answers. */
  private RawHttp2 silentGrpc() throws IOException {
    RawHttp2 connection = new RawHttp2(server.grpcPort());
    sockets.add(connection.socket());
    return connection.send(frame(RawHttp2.SETTINGS, 0, 0, NO_WINDOW));
  }

  private static byte[] call(int stream, String path, String key, byte[] request) {
    return RawHttp2.join(
        open(stream, path, "authorization", "Bearer " + key),
        frame(RawHttp2.DATA, RawHttp2.END_STREAM, stream, message(request)));
  }

  private static byte[] peek(String queue, int messages) {
    return BrowseMessagesRequest.newBuilder()
        .setQueue(queue)
        .setMaxMessages(messages)
        .build()
        .toByteArray();
  }

  /** A client that asks over HTTP and reads nothing. */
  private Socket silentHttp(String path, String key) throws IOException {
    Socket socket = new Socket();
    sockets.add(socket);
    socket.setReceiveBufferSize(2_048);
    socket.setSoTimeout(30_000);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.httpPort()));
    String request =
        "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"
            .formatted(path, key);
    socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private List<Delivery> receive(String key, String queue) {
    ReceiveRequest one = ReceiveRequest.newBuilder().setQueue(queue).setWaitMs(10_000).build();
    return server.queues(key).receive(one).getDeliveriesList();
  }

  /** Reads all there is; fails if the server leaves the connection open. */
  private static void assertClosed(Socket socket) throws IOException {
    try {
      socket.getInputStream().transferTo(OutputStream.nullOutputStream());
    } catch (SocketException reset) {
      // Closed, with bytes that were not read.
    }
  }

  @Test
  void unaryAnswer_countsUntilItIsRead() throws IOException {
    RawHttp2 client = silentGrpc();
    client.send(call(1, BROWSE, KeyedServer.BOOTSTRAP, peek("a.q", 1)));
    await().until(() -> answers.used() > MEBIBYTE - 1_000);
    // Another call gives back its own memory, but not that of the unread answer.
    assertThat(enqueue("good", List.of(Message.getDefaultInstance()))).isEqualTo(1);
    assertThat(answers.used()).isBetween(MEBIBYTE - 1_000L, MEBIBYTE + 1_000L);
    byte[] much = {0, 32, 0, 0};
    client.send(
        frame(RawHttp2.WINDOW_UPDATE, 0, 0, much), frame(RawHttp2.WINDOW_UPDATE, 0, 1, much));
    assertThat(client.await(RawHttp2.Frame::endsStream)).isNotNull();
    await().until(() -> answers.used() == 0);
  }

  @Test
  void unaryAnswer_ofADisconnectedClient_isReleased() throws IOException {
    RawHttp2 client = silentGrpc();
    client.send(call(1, BROWSE, KeyedServer.BOOTSTRAP, peek("a.q", 1)));
    await().until(() -> answers.used() > 0);
    client.close();
    await().until(() -> answers.used() == 0);
  }

  @Test
  void streamThatIsNotRead_counts() throws IOException {
    RawHttp2 client = silentGrpc();
    byte[] request =
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("a.q").setPrefetch(10))
            .build()
            .toByteArray();
    client.send(
        open(1, CONSUME, "authorization", "Bearer " + KeyedServer.BOOTSTRAP),
        data(1, message(request)));
    await().until(() -> answers.used() > MEBIBYTE - 1_000);
    client.close();
    await().until(() -> answers.used() == 0);
  }

  /** Lists of fairness keys stand for all lists. */
  @Test
  void listsOnBothWires_areBounded() throws IOException {
    List<Message> tenants = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      // Written as two characters each.
      String quotes = "\"".repeat(250);
      tenants.add(Message.newBuilder().setFairnessKey("%06d".formatted(i) + quotes).build());
    }
    assertThat(enqueue("good", tenants)).isEqualTo(10_000);
    String reader = server.create("read:good").getSecret();
    RawHttp2 client = silentGrpc();
    byte[] stats = GetQueueRequest.newBuilder().setName("good").build().toByteArray();
    client.send(call(1, GET_QUEUE, reader, stats));
    await().until(() -> answers.used() > 200_000);
    long one = answers.used();
    Socket list = silentHttp("/v1/queues/good/fairness-keys?limit=10000", reader);
    await().until(() -> answers.used() > one + 4 * MEBIBYTE);
    list.close();
    await().until(() -> answers.used() == one);
    for (int stream = 3; stream < 200; stream += 2) {
      client.flood(call(stream, GET_QUEUE, reader, stats), 1);
      assertThat(answers.used()).isLessThanOrEqualTo(2 * MAX);
      if (stream % 40 == 3) {
        silentHttp("/v1/queues/good/fairness-keys?limit=10000", reader);
      }
    }
    assertClosed(client.socket());
    assertThat(enqueue("good", tenants)).isEqualTo(10_000);
  }

  @Test
  void slowReader_leavesMemoryForOthers() throws IOException {
    String reader = server.create("read:a.q").getSecret();
    silentHttp("/v1/queues/a.q/browse?max_messages=100", reader);
    await().until(() -> answers.used() > 8 * MEBIBYTE);
    assertThat(receive(server.create("consume:good").getSecret(), "good")).hasSize(1);
  }

  @Test
  void slowReaders_areCutWhenMemoryIsShort() throws IOException {
    RawHttp2 grpc = silentGrpc();
    grpc.send(call(1, BROWSE, server.create("read:a.q").getSecret(), peek("a.q", 100)));
    await().until(() -> answers.used() > 7 * MEBIBYTE);
    Socket http =
        silentHttp("/v1/queues/b.q/browse?max_messages=100", server.create("read:b.q").getSecret());
    await().until(() -> answers.used() > 17 * MEBIBYTE);
    String consumer = server.create("consume:good").getSecret();
    assertThat(KeyedServer.codeOf(() -> receive(consumer, "good")))
        .isEqualTo(Status.Code.UNAVAILABLE);
    now.addAndGet(ResponseMemoryBudget.PATIENCE_NANOS);
    List<Delivery> received = receive(consumer, "good");
    assertThat(received).hasSize(1);
    // The refused call has changed nothing.
    assertThat(received.get(0).getAttempts()).isZero();
    assertClosed(http);
    silentGrpc().send(call(1, BROWSE, server.create("read:b.q").getSecret(), peek("b.q", 100)));
    await().until(() -> answers.used() > 15 * MEBIBYTE);
    fill("more", 1);
    assertThat(receive(server.create("consume:more").getSecret(), "more")).hasSize(1);
    assertThat(grpc.untilClosed()).anyMatch(frame -> frame.text().contains("answers_not_read"));
  }

  /** The call was executed, so it must not be answered as if it was not. */
  @Test
  void answerOfAnExecutedCall_isNotRefused() throws IOException {
    silentHttp("/v1/queues/a.q/browse?max_messages=100", server.create("read:a.q").getSecret());
    silentHttp("/v1/queues/b.q/browse?max_messages=100", server.create("read:b.q").getSecret());
    await().until(() -> answers.used() > MAX);
    List<Message> many = Collections.nCopies(10_000, Message.getDefaultInstance());
    for (int i = 0; i < 5; i++) {
      assertThat(enqueue("good", many)).isEqualTo(10_000);
    }
  }

  /** Peeks hold no threads while there is no memory. */
  @Test
  void browseWithoutMemory_isRefusedAtOnce() throws IOException {
    RawHttp2 client = silentGrpc();
    String reader = server.create("read:a.q").getSecret();
    for (int stream = 1; stream < 160; stream += 2) {
      client.send(call(stream, BROWSE, reader, peek("a.q", 10)));
    }
    await().until(() -> answers.used() > 7 * MEBIBYTE);
    assertThat(answers.used()).isLessThanOrEqualTo(9 * MEBIBYTE);
    BrowseMessagesRequest again =
        BrowseMessagesRequest.newBuilder().setQueue("a.q").setMaxMessages(10).build();
    Status refused = KeyedServer.statusOf(() -> server.queues(reader).browseMessages(again));
    assertThat(refused.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(refused.getDescription()).contains("no memory for messages");
  }
}
