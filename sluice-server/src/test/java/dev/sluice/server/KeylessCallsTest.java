package dev.sluice.server;

import static dev.sluice.server.RawHttp2.frame;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.ListQueuesRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A connection that makes many calls without a key is closed; one with a few is answered. */
@Tag("any-jdk")
@Timeout(60)
final class KeylessCallsTest {
  private static final String LIST = "/sluice.v1.Queues/ListQueues";
  private static final int ENHANCE_YOUR_CALM = 11;
  private static final int FEW = 10;
  private static final int MANY = 2_000;

  @TempDir private Path dir;
  @AutoClose private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
  }

  private static byte[] calls(String method, int count) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    int flags = RawHttp2.END_HEADERS | RawHttp2.END_STREAM;
    for (int i = 0; i < count; i++) {
      all.writeBytes(frame(RawHttp2.HEADERS, flags, 2 * i + 1, RawHttp2.headers(method)));
    }
    return all.toByteArray();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {LIST, "/grpc.health.v1.Health/Check", "/sluice.v1.Queues/Unknown", "no path"})
  void flood_endsTheConnection(String method) throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.flood(calls(method, MANY), 1);
      assertThat(connection.untilClosed())
          .filteredOn(frame -> frame.type() == RawHttp2.GOAWAY)
          .allSatisfy(
              frame ->
                  assertThat(ByteBuffer.wrap(frame.payload()).getInt(4))
                      .isEqualTo(ENHANCE_YOUR_CALM));
    }
    assertThat(
            server.queues(KeyedServer.BOOTSTRAP).listQueues(ListQueuesRequest.getDefaultInstance()))
        .isNotNull();
  }

  @Test
  void fewCalls_areAnswered() throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(calls(LIST, FEW));
      for (int i = 0; i < FEW; i++) {
        RawHttp2.Frame answer = connection.await(RawHttp2.Frame::endsStream);
        assertThat(answer).isNotNull();
        assertThat(answer.type()).isEqualTo(RawHttp2.HEADERS);
      }
    }
  }
}
