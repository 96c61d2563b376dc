package dev.sluice.server;

import static dev.sluice.server.RawHttp2.frame;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.ListQueuesRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Calls that gRPC refuses by itself, before any interceptor sees them, hold no place of other
 * calls, cost their connection as much as others without a key, and hold little memory.
 */
@Tag("any-jdk")
@Timeout(60)
final class SelfAnsweredCallsTest {
  private static final String LIST = "/sluice.v1.Queues/ListQueues";
  private static final String STREAM = "/sluice.v1.Queues/EnqueueStream";
  private static final int WHOLE = RawHttp2.END_HEADERS | RawHttp2.END_STREAM;
  private static final int INITIAL_WINDOW_SIZE = 4;
  private static final int MANY = 2_000;

  /** As many as a connection can make the server reset. */
  private static final int CALLS = 20;

  private static final String LONG = "%".repeat(10_000);

  @TempDir private Path dir;
  @AutoClose private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
  }

  @AfterEach
  void othersAreServed() {
    assertThat(
            server
                .queues(KeyedServer.BOOTSTRAP)
                .withDeadlineAfter(20, TimeUnit.SECONDS)
                .listQueues(ListQueuesRequest.getDefaultInstance()))
        .isNotNull();
  }

  private static byte[] calls(int count, byte[] headers) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (int i = 0; i < count; i++) {
      all.writeBytes(frame(RawHttp2.HEADERS, WHOLE, 2 * i + 1, headers));
    }
    return all.toByteArray();
  }

  /** Reads nothing before everything is sent, and expects that the server closes then. */
  private void assertFloodEnds(byte[] settings, byte[] headers) throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(settings);
      connection.flood(calls(MANY, headers), 1);
      long answers =
          connection.untilClosed().stream().filter(each -> each.type() == RawHttp2.HEADERS).count();
      assertThat(answers).isLessThan(MANY / 4);
    }
  }

  /** gRPC throws while it begins such a call, and reports no end of it. */
  @ParameterizedTest
  @ValueSource(strings = {"x", "1h", "1234567890S", ""})
  void malformedTimeouts_leaveTheServerToOthers(String timeout) throws IOException {
    byte[] calls = calls(CALLS, RawHttp2.headers(STREAM, "grpc-timeout", timeout));
    for (int i = 0; i < 60; i++) {
      try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
        connection.send(calls);
        for (int reset = 0; reset < CALLS; reset++) {
          assertThat(connection.await(each -> each.type() == RawHttp2.RESET)).isNotNull();
        }
      }
    }
  }

  @Test
  void unknownEncodings_endTheConnection() throws IOException {
    assertFloodEnds(new byte[0], RawHttp2.headers(LIST, "grpc-encoding", "unknown"));
  }

  /** Their answers repeat the name of the encoding, and wait for the reader. */
  @Test
  void unknownEncodings_unread_leaveTheServerToOthers() throws IOException {
    byte[] calls = calls(MANY, RawHttp2.headers(LIST, "grpc-encoding", LONG));
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.flood(calls, 1);
      othersAreServed();
    }
  }

  /** The bodies of their answers are never sent. */
  @Test
  void requestsThatAreNoGrpc_withoutAWindow_endTheConnection() throws IOException {
    byte[] noWindow = ByteBuffer.allocate(6).putShort((short) INITIAL_WINDOW_SIZE).array();
    assertFloodEnds(
        frame(RawHttp2.SETTINGS, 0, 0, noWindow), RawHttp2.headersOf("text/plain", LIST));
  }

  @Test
  void unknownMethods_areNotRepeated() throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(calls(1, RawHttp2.headers("/" + "no/".repeat(3_000))));
      RawHttp2.Frame answer = connection.await(RawHttp2.Frame::endsStream);
      assertThat(answer).isNotNull();
      assertThat(answer.payload()).hasSizeLessThan(500);
    }
  }

  /** A client that bursts on a new connection is not taken for one without a key. */
  @Test
  void burstWithAKey_isAnswered() throws IOException {
    byte[] key = RawHttp2.headers(LIST, "authorization", "Bearer " + KeyedServer.BOOTSTRAP);
    ByteArrayOutputStream calls = new ByteArrayOutputStream();
    for (int i = 0; i < MANY; i++) {
      calls.writeBytes(frame(RawHttp2.HEADERS, RawHttp2.END_HEADERS, 2 * i + 1, key));
      calls.writeBytes(
          frame(RawHttp2.DATA, RawHttp2.END_STREAM, 2 * i + 1, RawHttp2.message(new byte[0])));
    }
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(calls.toByteArray());
      for (int i = 0; i < MANY; i++) {
        RawHttp2.Frame end = connection.await(RawHttp2.Frame::endsStream);
        assertThat(end).isNotNull();
        assertThat(end.type()).isEqualTo(RawHttp2.HEADERS);
      }
    }
  }

  /** Once a key was shown, further calls without one are slowed down. */
  @Test
  void callsWithoutAKey_afterOneWithAKey_wait() throws IOException {
    byte[] key = RawHttp2.headers(LIST, "authorization", "Bearer " + KeyedServer.BOOTSTRAP);
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(
          frame(RawHttp2.HEADERS, RawHttp2.END_HEADERS, 1, key),
          frame(RawHttp2.DATA, RawHttp2.END_STREAM, 1, RawHttp2.message(new byte[0])));
      assertThat(connection.await(RawHttp2.Frame::endsStream)).isNotNull();
      long from = System.nanoTime();
      for (int i = 1; i <= 120; i++) {
        connection.send(frame(RawHttp2.HEADERS, WHOLE, 2 * i + 1, RawHttp2.headers(LIST)));
        assertThat(connection.await(RawHttp2.Frame::endsStream)).isNotNull();
      }
      assertThat(System.nanoTime() - from).isGreaterThan(TimeUnit.SECONDS.toNanos(1));
    }
  }
}
