package dev.sluice.server;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** HTTP/2 over a bare socket, for frames that no client would send. */
final class RawHttp2 implements AutoCloseable {
  static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int PRIORITY = 2;
  static final int RESET = 3;
  static final int SETTINGS = 4;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW_UPDATE = 8;
  static final int CONTINUATION = 9;
  static final int END_STREAM = 1;
  static final int END_HEADERS = 4;

  private final Socket socket;
  private final DataInputStream in;

  /** A frame from the server, with its raw payload. */
  @SuppressWarnings("ArrayRecordComponent") // read, not compared
  record Frame(int type, int flags, int stream, byte[] payload) {
    boolean endsStream() {
      return type == RESET || ((type == HEADERS || type == DATA) && (flags & END_STREAM) != 0);
    }

    /** The status and other texts that are not compressed, with noise between them. */
    String text() {
      return new String(payload, StandardCharsets.ISO_8859_1);
    }
  }

  RawHttp2(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(20_000);
    in = new DataInputStream(socket.getInputStream());
    send(begin());
  }

  Socket socket() {
    return socket;
  }

  RawHttp2 send(byte[]... parts) throws IOException {
    socket.getOutputStream().write(join(parts));
    return this;
  }

  /** Sends until the server closes, {@code times} at most. */
  void flood(byte[] bytes, int times) {
    try {
      for (int i = 0; i < times; i++) {
        send(bytes);
      }
    } catch (IOException closed) {
      // The frames before say why.
    }
  }

  /** The next frame; null if the server has closed. */
  @Nullable Frame next() throws IOException {
    try {
      int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
      int type = in.readUnsignedByte();
      int flags = in.readUnsignedByte();
      int stream = in.readInt();
      return new Frame(type, flags, stream, in.readNBytes(length));
    } catch (EOFException | SocketException closed) {
      return null;
    }
  }

  /** The first frame of that kind; null if the server has closed before. */
  @Nullable Frame await(Predicate<Frame> wanted) throws IOException {
    Frame frame = next();
    while (frame != null && !wanted.test(frame)) {
      frame = next();
    }
    return frame;
  }

  /** Everything until the server closes. */
  List<Frame> untilClosed() throws IOException {
    List<Frame> all = new ArrayList<>();
    for (Frame frame = next(); frame != null; frame = next()) {
      all.add(frame);
    }
    return all;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return rawFrame(payload.length, type, flags, stream, payload);
  }

  static byte[] rawFrame(int length, int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(9 + payload.length)
        .put((byte) (length >> 16))
        .putShort((short) length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
  }

  static byte[] join(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  static byte[] repeat(byte[] frame, int times) {
    ByteBuffer all = ByteBuffer.allocate(frame.length * times);
    for (int i = 0; i < times; i++) {
      all.put(frame);
    }
    return all.array();
  }

  static byte[] begin() {
    return join(PREFACE, frame(SETTINGS, 0, 0, new byte[0]));
  }

  /** Literal fields without indexing, which need no table. */
  static byte[] headers(String path, String... more) {
    return headersOf("application/grpc", path, more);
  }

  /** As {@link #headers}, of a request that may be no gRPC. */
  static byte[] headersOf(String contentType, String path, String... more) {
    byte[] all =
        join(
            field(":method", "POST"),
            field(":scheme", "http"),
            field(":path", path),
            field(":authority", "x"),
            field("content-type", contentType),
            field("te", "trailers"));
    for (int i = 0; i < more.length; i += 2) {
      all = join(all, field(more[i], more[i + 1]));
    }
    return all;
  }

  static byte[] field(String name, String value) {
    return join(new byte[] {0}, text(name), text(value));
  }

  static byte[] text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    return join(length(bytes.length), bytes);
  }

  /** A number of 7 bits or more (RFC 7541, section 5.1). */
  private static byte[] length(int number) {
    if (number < 127) {
      return new byte[] {(byte) number};
    }
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.write(127);
    int rest = number - 127;
    for (; rest >= 128; rest >>>= 7) {
      all.write((rest & 127) | 128);
    }
    all.write(rest);
    return all.toByteArray();
  }

  /** The beginning of a call. */
  static byte[] open(int stream, String path, String... more) {
    return frame(HEADERS, END_HEADERS, stream, headers(path, more));
  }

  /** A whole call. */
  static byte[] call(int stream, String path, byte[] data) {
    return join(open(stream, path), frame(DATA, END_STREAM, stream, data));
  }

  static byte[] message(int compressed, int length, byte[] payload) {
    return ByteBuffer.allocate(5 + payload.length)
        .put((byte) compressed)
        .putInt(length)
        .put(payload)
        .array();
  }

  static byte[] message(byte[] payload) {
    return message(0, payload.length, payload);
  }

  /** A message in frames of the usual size; none of them is the last. */
  static byte[] data(int stream, byte[] bytes) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (int at = 0; at < bytes.length; at += 16_384) {
      byte[] part = java.util.Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + 16_384));
      all.writeBytes(frame(DATA, 0, stream, part));
    }
    return all.toByteArray();
  }
}
