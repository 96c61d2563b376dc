package dev.sluice.server;

import static dev.sluice.server.RawHttp2.frame;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Headers of open gRPC calls and of answers take a bounded part of the memory. */
@Tag("any-jdk")
@Timeout(60)
final class HeaderMemoryTest {
  private static final String WATCH = "/grpc.health.v1.Health/Watch";
  private static final String ACCEPT_ENCODING = "grpc-accept-encoding";
  private static final int HEADER_TABLE_SIZE = 1;

  /** A size of the table of 4,096 bytes (RFC 7541, section 6.3). */
  private static final String DEFAULT_TABLE_SIZE = "?\u00e1\u001f";

  @TempDir private Path dir;
  @AutoClose private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
  }

  private RawHttp2.Frame watch(String acceptEncoding) throws IOException {
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(
          RawHttp2.open(1, WATCH, ACCEPT_ENCODING, acceptEncoding),
          frame(RawHttp2.DATA, RawHttp2.END_STREAM, 1, RawHttp2.message(new byte[0])));
      return connection.await(each -> each.type() == RawHttp2.HEADERS);
    }
  }

  @Test
  void watchWithLargeHeaders_isRefused() throws IOException {
    RawHttp2.Frame answer = watch("x".repeat(2_000));
    assertThat(answer.endsStream()).isTrue();
    assertThat(answer.text()).contains("must have at most 1024 bytes");
  }

  @Test
  void watchWithOrdinaryHeaders_continues() throws IOException {
    assertThat(watch("identity,deflate,gzip").endsStream()).isFalse();
  }

  /** The client allows 2 GiB. */
  @Test
  void tableOfSentHeaders_keepsItsDefaultSize() throws IOException {
    byte[] setting =
        ByteBuffer.allocate(6).putShort((short) HEADER_TABLE_SIZE).putInt(1 << 30).array();
    try (RawHttp2 connection = new RawHttp2(server.grpcPort())) {
      connection.send(frame(RawHttp2.SETTINGS, 0, 0, setting));
      connection.send(RawHttp2.call(1, WATCH, RawHttp2.message(new byte[0])));
      RawHttp2.Frame answer = connection.await(each -> each.type() == RawHttp2.HEADERS);
      assertThat(answer).isNotNull();
      assertThat(answer.text()).contains(DEFAULT_TABLE_SIZE);
    }
  }
}
