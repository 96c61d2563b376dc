package dev.sluice.attacks.wire;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * A client of gRPC that keeps to the rules of HTTP/2: it sends no more than the server's windows
 * allow and answers what has to be answered. Any number of calls may be open. Not thread-safe.
 */
public final class GrpcClient implements AutoCloseable {
  private static final int HEAD_BYTES = 5;
  private static final int INITIAL_WINDOW_SIZE = 4;

  /** An answer: the status of gRPC, and the message if it is 0. */
  @SuppressWarnings("ArrayRecordComponent") // read once, by the caller
  public record Reply(int status, String problem, byte[] message) {}

  private final Http2 connection;
  private final String key;
  private final Map<Integer, Call> calls = new HashMap<>();
  private int window = Http2.WINDOW_BYTES;
  private int initialWindow = Http2.WINDOW_BYTES;

  /** Takes over a connection that has been greeted. */
  public GrpcClient(Http2 connection, String key) {
    this.connection = connection;
    this.key = key;
  }

  /** Makes a call with one message and waits for its answer. */
  public Reply call(String path, byte[] request) throws IOException {
    int stream = open(path);
    send(stream, Grpc.message(request), true);
    return await(stream);
  }

  /** Begins a call and returns its stream. */
  public int open(String path) throws IOException {
    int stream = connection.newStream();
    calls.put(stream, new Call(initialWindow));
    connection.headers(stream, false, Grpc.headers(path, key));
    return stream;
  }

  /** Sends some content; stops silently where the server has answered meanwhile. */
  public void send(int stream, byte[] content, boolean end) throws IOException {
    Call call = find(stream);
    for (int from = 0; from < content.length && !call.ended; ) {
      int room = Math.min(Http2.FRAME_BYTES, Math.min(window, call.window));
      int length = Math.min(room, content.length - from);
      if (length <= 0) {
        take(connection.read());
        continue;
      }
      boolean last = end && from + length == content.length;
      byte[] part = Arrays.copyOfRange(content, from, from + length);
      connection.send(new Frame(Frame.DATA, last ? Frame.END_STREAM : 0, stream, part));
      from += length;
      window -= length;
      call.window -= length;
    }
  }

  /** Waits for the end of a call. */
  public Reply await(int stream) throws IOException {
    Call call = find(stream);
    while (!call.ended) {
      take(connection.read());
    }
    calls.remove(stream);
    return call.reply();
  }

  /** Reads received frames and returns whether a call has ended; does not wait. */
  public boolean hasEnded(int stream) throws IOException {
    while (connection.hasInput()) {
      take(connection.read());
    }
    return find(stream).ended;
  }

  private Call find(int stream) {
    Call call = calls.get(stream);
    if (call == null) {
      throw new IllegalArgumentException("no call is open on stream " + stream);
    }
    return call;
  }

  private void take(Frame frame) throws IOException {
    Call call = calls.get(frame.stream());
    switch (frame.type()) {
      case Frame.SETTINGS -> takeSettings(frame);
      case Frame.PING -> {
        if (!frame.has(Frame.ACK)) {
          connection.send(new Frame(Frame.PING, Frame.ACK, 0, frame.payload()));
        }
      }
      case Frame.WINDOW_UPDATE -> {
        if (frame.stream() == 0) {
          window += frame.number();
        } else if (call != null) {
          call.window += frame.number();
        }
      }
      case Frame.GOAWAY -> throw new IOException("the server closes the connection");
      default -> {
        if (frame.type() == Frame.DATA && frame.payload().length > 0) {
          renewWindows(frame);
        }
        if (call != null) {
          call.take(frame);
        }
      }
    }
  }

  /** Those of the connection and of the call: else the rest of a large answer never arrives. */
  private void renewWindows(Frame data) throws IOException {
    int bytes = data.payload().length;
    connection.send(Frame.ofInt(Frame.WINDOW_UPDATE, 0, bytes));
    if (calls.containsKey(data.stream()) && !data.has(Frame.END_STREAM)) {
      connection.send(Frame.ofInt(Frame.WINDOW_UPDATE, data.stream(), bytes));
    }
  }

  private void takeSettings(Frame frame) throws IOException {
    if (frame.has(Frame.ACK)) {
      return;
    }
    byte[] settings = frame.payload();
    for (int at = 0; at + 6 <= settings.length; at += 6) {
      int id = ((settings[at] & 0xff) << 8) | (settings[at + 1] & 0xff);
      if (id == INITIAL_WINDOW_SIZE) {
        int size = Frame.readInt(settings, at + 2);
        int more = size - initialWindow;
        calls.values().forEach(each -> each.window += more);
        initialWindow = size;
      }
    }
    connection.send(Frame.empty(Frame.SETTINGS, Frame.ACK, 0));
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }

  /** The part of an answer that has arrived. */
  private static final class Call {
    private final ByteArrayOutputStream content = new ByteArrayOutputStream();
    private int window;
    private int status = -1;
    private String problem = "";
    private boolean ended;

    Call(int window) {
      this.window = window;
    }

    void take(Frame frame) {
      if (frame.type() == Frame.RST_STREAM) {
        ended = true;
        problem = problem.isEmpty() ? "reset: " + frame.number() : problem;
        return;
      }
      if (frame.type() == Frame.HEADERS) {
        Map<String, String> fields = Hpack.decode(frame.payload());
        status = Integer.parseInt(fields.getOrDefault("grpc-status", String.valueOf(status)));
        problem = fields.getOrDefault("grpc-message", problem);
      } else if (frame.type() == Frame.DATA) {
        content.writeBytes(frame.payload());
      }
      ended |= frame.has(Frame.END_STREAM);
    }

    Reply reply() {
      byte[] all = content.toByteArray();
      byte[] message =
          all.length < HEAD_BYTES ? new byte[0] : Arrays.copyOfRange(all, HEAD_BYTES, all.length);
      return new Reply(status, problem, message);
    }
  }
}
