package dev.sluice.server;

import static dev.sluice.server.RawHttp2.frame;
import static dev.sluice.server.RawHttp2.join;
import static dev.sluice.server.RawHttp2.open;
import static dev.sluice.server.RawHttp2.repeat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.ListQueuesResponse;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.ReceiveResponse;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A connection that floods is closed with a reason; one that is merely busy is not. */
@Tag("any-jdk")
@Timeout(120)
final class FrameFloodTest {
  private static final String LIST = "/sluice.v1.Queues/ListQueues";
  private static final String STREAM = "/sluice.v1.Queues/EnqueueStream";
  private static final int ENHANCE_YOUR_CALM = 11;
  private static final int FRAMES_AT_ONCE = 500;
  private static final int ROUNDS = 40;

  @TempDir private static Path dir;
  private static TestServer server;

  @BeforeAll
  static void start() throws IOException {
    server = TestServer.start(dir);
    server.createQueue("q");
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static byte[] number(int value) {
    return ByteBuffer.allocate(4).putInt(value).array();
  }

  /** Frames that cost the server work without any use; those without calls come 500 at a time. */
  static Stream<Arguments> floods() {
    return Stream.of(
        flood("settings", frame(RawHttp2.SETTINGS, 0, 0, new byte[0])),
        flood("settings acknowledged", frame(RawHttp2.SETTINGS, 1, 0, new byte[0])),
        flood("pings", frame(RawHttp2.PING, 0, 0, new byte[8])),
        flood("pings acknowledged", frame(RawHttp2.PING, 1, 0, new byte[8])),
        flood("window updates", frame(RawHttp2.WINDOW_UPDATE, 0, 0, number(1))),
        flood("priorities", frame(RawHttp2.PRIORITY, 0, 3, new byte[] {0, 0, 0, 0, 1})),
        flood("unknown frames", frame(0x77, 0, 0, new byte[1])),
        flood("empty data", frame(RawHttp2.DATA, 0, 1, new byte[0])),
        flood("padding", frame(RawHttp2.DATA, 8, 1, new byte[] {1, 0})));
  }

  private static Arguments flood(String name, byte[] frame) {
    return Arguments.of(name, repeat(frame, FRAMES_AT_ONCE));
  }

  /** A client that is still sending may lose the unread part of the reason. */
  private static void assertClosedForFlooding(RawHttp2 connection) throws IOException {
    assertThat(connection.untilClosed())
        .filteredOn(frame -> frame.type() == RawHttp2.GOAWAY)
        .allSatisfy(
            frame ->
                assertThat(ByteBuffer.wrap(frame.payload()).getInt(4))
                    .isEqualTo(ENHANCE_YOUR_CALM));
    assertThat(server.queues().listQueues(ListQueuesRequest.getDefaultInstance())).isNotNull();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("floods")
  void flood_endsTheConnection(String name, byte[] frames) throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.server.grpcPort())) {
      connection.send(open(1, STREAM));
      connection.flood(frames, ROUNDS);
      assertClosedForFlooding(connection);
    }
  }

  @Test
  void continuationFlood_endsTheConnection() throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.server.grpcPort())) {
      connection.send(frame(RawHttp2.HEADERS, 0, 1, RawHttp2.headers(LIST)));
      connection.flood(
          repeat(frame(RawHttp2.CONTINUATION, 0, 1, new byte[0]), FRAMES_AT_ONCE), ROUNDS);
      assertClosedForFlooding(connection);
    }
  }

  /** The client begins calls and cancels them at once. */
  @Test
  void rapidReset_endsTheConnection() throws IOException {
    assertCallsEndTheConnection(
        stream -> join(open(stream, LIST), frame(RawHttp2.RESET, 0, stream, number(8))));
  }

  /** The client makes the server reset its calls: CVE-2025-8671. */
  @Test
  void madeYouReset_endsTheConnection() throws IOException {
    assertCallsEndTheConnection(
        stream -> join(open(stream, LIST), frame(RawHttp2.WINDOW_UPDATE, 0, stream, number(0))));
    assertCallsEndTheConnection(
        stream ->
            join(
                open(stream, LIST),
                frame(RawHttp2.WINDOW_UPDATE, 0, stream, number(Integer.MAX_VALUE))));
    assertCallsEndTheConnection(
        stream ->
            join(
                frame(
                    RawHttp2.HEADERS,
                    RawHttp2.END_HEADERS | RawHttp2.END_STREAM,
                    stream,
                    RawHttp2.headers(LIST)),
                frame(RawHttp2.DATA, 0, stream, new byte[1])));
  }

  private interface Call {
    byte[] frames(int stream);
  }

  private static void assertCallsEndTheConnection(Call call) throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.server.grpcPort())) {
      ByteArrayOutputStream calls = new ByteArrayOutputStream();
      for (int i = 0; i < 600; i++) {
        calls.writeBytes(call.frames(2 * i + 1));
      }
      connection.flood(calls.toByteArray(), 1);
      assertClosedForFlooding(connection);
    }
    await().until(() -> server.server.openCalls() == 0);
  }

  /** The client of gRPC, which sends window updates and pings as it sees fit. */
  private static ManagedChannel client() {
    return NettyChannelBuilder.forAddress("127.0.0.1", server.server.grpcPort())
        .usePlaintext()
        .maxInboundMessageSize(32 << 20)
        .keepAliveTime(10, TimeUnit.SECONDS)
        .build();
  }

  private static List<Future<ListQueuesResponse>> list(QueuesGrpc.QueuesFutureStub stub, int many) {
    List<Future<ListQueuesResponse>> calls = new ArrayList<>();
    for (int i = 0; i < many; i++) {
      calls.add(stub.listQueues(ListQueuesRequest.getDefaultInstance()));
    }
    return calls;
  }

  @Test
  void busyClient_isNotClosed() throws Exception {
    ManagedChannel channel = client();
    try {
      QueuesGrpc.QueuesFutureStub stub = QueuesGrpc.newFutureStub(channel);
      for (int round = 0; round < 5; round++) {
        List<Future<ListQueuesResponse>> calls = list(stub, 2_000);
        // One in twenty is canceled while it is under way.
        for (int i = 0; i < calls.size(); i += 20) {
          calls.get(i).cancel(true);
        }
        for (int i = 0; i < calls.size(); i++) {
          assertThat(i % 20 == 0 || calls.get(i).get() != null).isTrue();
        }
      }
    } finally {
      channel.shutdownNow();
    }
  }

  /** Calls that have waited for a while may all be canceled at the same time. */
  @Test
  void clientThatCancelsManyWaitingCalls_isNotClosed() throws Exception {
    ManagedChannel channel = client();
    try {
      QueuesGrpc.QueuesFutureStub stub = QueuesGrpc.newFutureStub(channel);
      ReceiveRequest wait =
          ReceiveRequest.newBuilder().setQueue("q").setMaxMessages(1).setWaitMs(20_000).build();
      for (int round = 0; round < 2; round++) {
        List<Future<ReceiveResponse>> waiting = new ArrayList<>();
        for (int i = 0; i < 900; i++) {
          waiting.add(
              ClientCalls.futureUnaryCall(
                  channel.newCall(QueuesGrpc.getReceiveMethod(), stub.getCallOptions()), wait));
        }
        await().until(() -> server.server.openCalls() == 900);
        await().pollDelay(250, TimeUnit.MILLISECONDS).until(() -> true);
        waiting.forEach(each -> each.cancel(true));
        await().until(() -> server.server.openCalls() == 0);
        assertThat(list(stub, 1).get(0).get()).isNotNull();
      }
      assertThat(server.server.grpcConnections()).isLessThanOrEqualTo(2);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void streamThatTheClientLeavesOpen_isReset() throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.server.grpcPort())) {
      connection.send(open(1, "/no.such/Method"));
      assertThat(connection.await(RawHttp2.Frame::endsStream)).isNotNull();
      assertThat(connection.await(frame -> frame.type() == RawHttp2.RESET)).isNotNull();
    }
  }
}
