package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.Proto;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** Opens streams that wait for ever: health that is watched, messages that never come. */
final class ManyStreams extends Attack {
  private static final int STREAMS = 1_000;

  private final String path;
  private final byte[] request;

  private ManyStreams(String name, Access access, String path, byte[] request) {
    super(name, Family.CONNECTIONS, access, new Bounds(100, 8 << 20, 512 << 10));
    this.path = path;
    this.request = Grpc.message(request);
  }

  static ManyStreams watches() {
    return new ManyStreams("health-many-watches", Access.NO_KEY, Grpc.HEALTH_WATCH, new byte[0]);
  }

  static ManyStreams polls() {
    Proto receive = new Proto().text(1, Attacks.QUEUE).number(2, 1).number(3, 30_000);
    return new ManyStreams("many-polls", Access.TENANT_KEY, Grpc.RECEIVE, receive.encode());
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(2, () -> open(attempt));
  }

  private void open(Attempt attempt) throws IOException, InterruptedException {
    byte[] headers = Grpc.headers(path, attempt.key());
    try (Http2 connection = attempt.grpc()) {
      for (int i = 0; i < STREAMS; i++) {
        int stream = connection.newStream();
        ByteArrayOutputStream call = new ByteArrayOutputStream();
        call.writeBytes(new Frame(Frame.HEADERS, Frame.END_HEADERS, stream, headers).encode());
        call.writeBytes(new Frame(Frame.DATA, Frame.END_STREAM, stream, request).encode());
        connection.send(call.toByteArray());
        while (connection.hasInput()) {
          connection.read();
        }
      }
      attempt.holdOn();
    }
  }
}
