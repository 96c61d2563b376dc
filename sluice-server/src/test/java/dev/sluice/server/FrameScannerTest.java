package dev.sluice.server;

import static dev.sluice.server.RawHttp2.frame;
import static dev.sluice.server.RawHttp2.join;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.grpc.Http2FrameScanner;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Frames are found however the bytes are cut. */
final class FrameScannerTest {
  private static final byte[] BYTES =
      join(
          RawHttp2.PREFACE,
          frame(RawHttp2.SETTINGS, 0, 0, new byte[0]),
          frame(RawHttp2.HEADERS, 5, 7, new byte[300]),
          frame(RawHttp2.DATA, 1, 0x7fffffff, new byte[70_000]),
          frame(RawHttp2.PING, 1, 0, new byte[8]));

  private static final List<String> FRAMES =
      List.of("4 0 0", "1 300 7", "0 70000 2147483647", "6 8 0");

  private static List<String> scan(int... cuts) {
    Http2FrameScanner scanner = new Http2FrameScanner(Http2FrameScanner.PREFACE_BYTES);
    List<String> found = new ArrayList<>();
    int from = 0;
    for (int i = 0; i <= cuts.length; i++) {
      int to = i < cuts.length ? cuts[i] : BYTES.length;
      ByteBuf piece = Unpooled.wrappedBuffer(Arrays.copyOfRange(BYTES, from, to));
      for (int at = scanner.next(piece, 0); at >= 0; at = scanner.next(piece, at)) {
        found.add(scanner.type() + " " + scanner.length() + " " + scanner.stream());
      }
      from = to;
    }
    return found;
  }

  @Test
  void frames_areFound_atAnyChunking() {
    assertThat(scan()).isEqualTo(FRAMES);
    for (int cut = 0; cut < 400; cut++) {
      assertThat(scan(cut, cut + 1, cut + 5)).as("cut at %d", cut).isEqualTo(FRAMES);
    }
  }
}
