package dev.sluice.testkit.redis;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sends commands to a server on this machine. Each takes a connection of its own, so that a console
 * outlives restarts and killed connections.
 */
final class RedisConsole {
  private static final int TIMEOUT_MILLIS = 5_000;

  private final int port;
  private final List<String> login;

  /**
   * A console.
   *
   * @param login the words that follow AUTH; empty for no login
   */
  RedisConsole(int port, List<String> login) {
    this.port = port;
    this.login = List.copyOf(login);
  }

  /** Text, a Long, a List of these, or null. An error in answer is thrown. */
  @Nullable Object command(List<String> words) {
    try (Socket socket = new Socket()) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.connect(new InetSocketAddress(loopback(), port), TIMEOUT_MILLIS);
      DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      if (!login.isEmpty()) {
        List<String> auth = new ArrayList<>(login);
        auth.add(0, "AUTH");
        socket.getOutputStream().write(request(auth));
        answer(in);
      }
      socket.getOutputStream().write(request(words));
      return answer(in);
    } catch (IOException e) {
      throw new UncheckedIOException(words.get(0) + " to port " + port + ": " + e.getMessage(), e);
    }
  }

  /** The value of a line {@code name:value}, as INFO prints them; empty if there is none. */
  String info(String section, String name) {
    return field(String.valueOf(command(List.of("INFO", section))), name);
  }

  /** The value of a line {@code name:value} in a text; empty if there is none. */
  static String field(String text, String name) {
    return text.lines()
        .filter(line -> line.startsWith(name + ":"))
        .map(line -> line.substring(name.length() + 1).strip())
        .findFirst()
        .orElse("");
  }

  /** Not the machine's name for it, which may be ::1. */
  static InetAddress loopback() throws IOException {
    return InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
  }

  private static byte[] request(List<String> words) {
    ByteArrayOutputStream request = new ByteArrayOutputStream();
    request.writeBytes(("*" + words.size() + "\r\n").getBytes(StandardCharsets.UTF_8));
    for (String word : words) {
      byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
      request.writeBytes(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.UTF_8));
      request.writeBytes(bytes);
      request.writeBytes(new byte[] {'\r', '\n'});
    }
    return request.toByteArray();
  }

  private static @Nullable Object answer(DataInputStream in) throws IOException {
    String line = line(in);
    String rest = line.substring(1);
    return switch (line.charAt(0)) {
      case '+' -> rest;
      case '-' -> throw new IllegalStateException("the server answered: " + rest);
      case ':' -> Long.valueOf(rest);
      case '$' -> bulk(in, Integer.parseInt(rest));
      case '*' -> array(in, Integer.parseInt(rest));
      default -> throw new IOException("not an answer in RESP 2: " + line);
    };
  }

  private static @Nullable String bulk(DataInputStream in, int length) throws IOException {
    if (length < 0) {
      return null;
    }
    byte[] bytes = new byte[length];
    in.readFully(bytes);
    in.skipNBytes(2);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static @Nullable List<@Nullable Object> array(DataInputStream in, int length)
      throws IOException {
    if (length < 0) {
      return null;
    }
    List<@Nullable Object> items = new ArrayList<>(length);
    for (int i = 0; i < length; i++) {
      items.add(answer(in));
    }
    return items;
  }

  private static String line(DataInputStream in) throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        throw new EOFException("the server closed the connection");
      }
      if (b != '\r') {
        line.write(b);
      }
    }
    if (line.size() == 0) {
      throw new IOException("not an answer in RESP 2: an empty line");
    }
    return line.toString(StandardCharsets.UTF_8);
  }
}
