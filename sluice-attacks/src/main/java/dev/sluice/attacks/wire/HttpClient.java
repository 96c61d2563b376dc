package dev.sluice.attacks.wire;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/** A well-behaved client of HTTP/1.1: one request at a time on a connection that stays open. */
public final class HttpClient implements AutoCloseable {
  private static final String LENGTH = "content-length:";
  private static final byte[] SPACES = spaces();

  /** An answer. */
  public record Reply(int status, String body) {}

  private final Socket socket;
  private final OutputStream out;
  private final InputStream in;
  private final String key;

  /** Takes over a socket. */
  public HttpClient(Socket socket, String key) throws IOException {
    this(socket, socket.getOutputStream(), key);
  }

  /** Takes over a socket; {@code out} may count or pace what is sent through it. */
  public HttpClient(Socket socket, OutputStream out, String key) throws IOException {
    this.socket = socket;
    this.out = out;
    this.key = key;
    in = new BufferedInputStream(socket.getInputStream());
  }

  /** The head of a request; an empty key for none. */
  public static String head(String method, String path, String key, long length) {
    return "%s %s HTTP/1.1\r\nHost: localhost\r\n".formatted(method, path)
        + (key.isEmpty() ? "" : "Authorization: Bearer %s\r\n".formatted(key))
        + (method.equals("GET") ? "" : "Content-Type: application/json\r\n")
        + (length < 0 ? "" : "Content-Length: %d\r\n".formatted(length))
        + "\r\n";
  }

  /** A whole request. */
  public static byte[] request(String method, String path, String key, String body) {
    byte[] content = body.getBytes(StandardCharsets.UTF_8);
    byte[] head =
        head(method, path, key, method.equals("GET") ? -1 : content.length)
            .getBytes(StandardCharsets.US_ASCII);
    ByteArrayOutputStream all = new ByteArrayOutputStream(head.length + content.length);
    all.writeBytes(head);
    all.writeBytes(content);
    return all.toByteArray();
  }

  /** Sends a request and waits for its answer. */
  public Reply call(String method, String path, String body) throws IOException {
    send(method, path, body);
    return readReply();
  }

  /**
   * Sends a request whose body begins with {@code padding} spaces, and waits for its answer. The
   * spaces are written from one small array, so the caller needs no heap for them.
   */
  public Reply callPadded(String method, String path, long padding, String body)
      throws IOException {
    byte[] content = body.getBytes(StandardCharsets.UTF_8);
    send(head(method, path, key, padding + content.length).getBytes(StandardCharsets.US_ASCII));
    for (long left = padding; left > 0; left -= SPACES.length) {
      out.write(SPACES, 0, (int) Math.min(left, SPACES.length));
    }
    send(content);
    return readReply();
  }

  private static byte[] spaces() {
    byte[] spaces = new byte[1 << 16];
    Arrays.fill(spaces, (byte) ' ');
    return spaces;
  }

  /** Sends a request. */
  public void send(String method, String path, String body) throws IOException {
    send(request(method, path, key, body));
  }

  /** Sends a request that was made before. */
  public void send(byte[] request) throws IOException {
    out.write(request);
  }

  /** Waits for an answer whose length is known. */
  public Reply readReply() throws IOException {
    int status = readStatus();
    int length = 0;
    for (String header = readLine(); !header.isEmpty(); header = readLine()) {
      if (header.toLowerCase(Locale.ROOT).startsWith(LENGTH)) {
        length = Integer.parseInt(header.substring(LENGTH.length()).strip());
      }
    }
    return new Reply(status, new String(in.readNBytes(length), StandardCharsets.UTF_8));
  }

  /** Waits for the beginning of an answer. */
  public int readStatus() throws IOException {
    String line = readLine();
    if (!line.startsWith("HTTP/1.1 ")) {
      throw new IOException("no answer of HTTP/1.1: " + line);
    }
    return Integer.parseInt(line.substring(9, 12));
  }

  /** Waits for a line. */
  public String readLine() throws IOException {
    StringBuilder line = new StringBuilder(64);
    for (int each = in.read(); each != '\n'; each = in.read()) {
      if (each < 0) {
        throw new EOFException("the connection has ended");
      }
      if (each != '\r') {
        line.append((char) each);
      }
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
