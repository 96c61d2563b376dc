package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.Proto;
import java.io.IOException;

/** Enqueues messages of 15 MB that are 15 KB on the wire. */
final class GzipEnqueue extends Attack {
  private static final int PAYLOAD_BYTES = 15 << 20;
  private static final int CALLS = 100;

  private byte[] message = {};

  GzipEnqueue(String name, Access access) {
    super(name, Family.MEMORY, access, Bounds.of(40, 16, 8));
  }

  @Override
  void prepare() {
    message = Grpc.gzipBomb(new Proto().text(1, Target.TENANT + "none"), PAYLOAD_BYTES, 2, 1);
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(2, () -> callMany(attempt));
  }

  private void callMany(Attempt attempt) throws IOException, InterruptedException {
    try (Http2 connection = attempt.grpc()) {
      for (int i = 0; i < CALLS; i++) {
        int stream = connection.newStream();
        connection.headers(stream, false, Grpc.gzipHeaders(Grpc.ENQUEUE, attempt.key()));
        connection.data(stream, true, message);
      }
      attempt.pause(500);
    }
  }
}
