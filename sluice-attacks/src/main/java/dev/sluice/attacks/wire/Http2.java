package dev.sluice.attacks.wire;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One connection of HTTP/2 whose frames are written by hand: nothing is sent and nothing is
 * answered unless the caller does it, in any order. Not thread-safe, but one thread may write while
 * another reads.
 */
public final class Http2 implements AutoCloseable {
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /** The default limit on the content of a frame. */
  public static final int FRAME_BYTES = 16_384;

  /** The initial flow-control window of a connection and of each stream. */
  public static final int WINDOW_BYTES = 65_535;

  private static final int HEADER_TABLE_SIZE = 1;

  private final Socket socket;
  private final OutputStream out;
  private final DataInputStream in;
  private int lastStream = -1;

  /** Takes over a socket; {@code out} may count or pace what is sent through it. */
  public Http2(Socket socket, OutputStream out) throws IOException {
    this.socket = socket;
    this.out = out;
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), FRAME_BYTES));
  }

  /** Sends preface and settings; the server is told to keep no table of headers. */
  public Http2 greet() throws IOException {
    ByteBuffer greeting = ByteBuffer.allocate(128);
    greeting.put(PREFACE).put(Frame.setting(HEADER_TABLE_SIZE, 0).encode());
    send(slice(greeting));
    return this;
  }

  private static byte[] slice(ByteBuffer buffer) {
    byte[] all = new byte[buffer.flip().remaining()];
    buffer.get(all);
    return all;
  }

  /** A number for a new stream. */
  public int newStream() {
    lastStream += 2;
    return lastStream;
  }

  public void send(Frame frame) throws IOException {
    send(frame.encode());
  }

  /** Sends any bytes. */
  public void send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  /** Begins a call of gRPC. */
  public void headers(int stream, boolean end, byte[] block) throws IOException {
    int flags = Frame.END_HEADERS | (end ? Frame.END_STREAM : 0);
    send(new Frame(Frame.HEADERS, flags, stream, block));
  }

  /** Sends content in as many frames as it needs, ignoring the server's window. */
  public void data(int stream, boolean end, byte[] content) throws IOException {
    int from = 0;
    do {
      int length = Math.min(FRAME_BYTES, content.length - from);
      boolean last = from + length == content.length;
      byte[] part = new byte[length];
      System.arraycopy(content, from, part, 0, length);
      send(new Frame(Frame.DATA, last && end ? Frame.END_STREAM : 0, stream, part));
      from += length;
    } while (from < content.length);
  }

  /** Waits for a frame. */
  public Frame read() throws IOException {
    int length = (in.readUnsignedByte() << 16) | in.readUnsignedShort();
    int type = in.readUnsignedByte();
    int flags = in.readUnsignedByte();
    int stream = in.readInt() & Integer.MAX_VALUE;
    byte[] payload = new byte[length];
    in.readFully(payload);
    return new Frame(type, flags, stream, payload);
  }

  /** Whether something can be read without waiting. */
  public boolean hasInput() throws IOException {
    return in.available() > 0;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
