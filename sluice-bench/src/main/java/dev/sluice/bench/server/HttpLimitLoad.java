package dev.sluice.bench.server;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Decisions over HTTP, one a request, on connections that stay open. Bare sockets: a client of
 * comfort would be measured with the server.
 */
final class HttpLimitLoad {
  private static final int CONNECTIONS = 8;
  private static final String LENGTH = "content-length:";

  private final int port;
  private final AtomicLong answered = new AtomicLong();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private volatile boolean running = true;

  HttpLimitLoad(int port) {
    this.port = port;
  }

  /** Decisions a second. */
  double perSecond(Duration warmUp, Duration measured) throws InterruptedException {
    Thread[] threads = new Thread[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++) {
      int number = i;
      threads[i] = new Thread(() -> ask(number));
      threads[i].start();
    }
    Thread.sleep(warmUp.toMillis());
    long from = System.nanoTime();
    long before = answered.get();
    Thread.sleep(measured.toMillis());
    double perSecond = (answered.get() - before) * 1e9 / (System.nanoTime() - from);
    running = false;
    for (Thread thread : threads) {
      thread.join();
    }
    if (failure.get() != null) {
      throw new IllegalStateException("a request failed", failure.get());
    }
    return perSecond;
  }

  private void ask(int number) {
    byte[] request = request(number);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setTcpNoDelay(true);
      OutputStream out = socket.getOutputStream();
      InputStream in = new BufferedInputStream(socket.getInputStream());
      while (running) {
        out.write(request);
        readAnswer(in);
        answered.incrementAndGet();
      }
    } catch (IOException | RuntimeException thrown) {
      failure.compareAndSet(null, thrown);
    }
  }

  private static byte[] request(int number) {
    String body = "{\"costs\":{\"tenant:%d\":1}}".formatted(number);
    return ("POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: %d\r\n\r\n%s".formatted(body.length(), body))
        .getBytes(StandardCharsets.US_ASCII);
  }

  private static void readAnswer(InputStream in) throws IOException {
    String status = readLine(in);
    if (!status.startsWith("HTTP/1.1 200")) {
      throw new IllegalStateException("refused: " + status);
    }
    int length = 0;
    for (String header = readLine(in); !header.isEmpty(); header = readLine(in)) {
      if (header.toLowerCase(Locale.ROOT).startsWith(LENGTH)) {
        length = Integer.parseInt(header.substring(LENGTH.length()).strip());
      }
    }
    in.skipNBytes(length);
  }

  private static String readLine(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder(64);
    for (int each = in.read(); each != '\n'; each = in.read()) {
      if (each < 0) {
        throw new IOException("the connection has ended");
      }
      if (each != '\r') {
        line.append((char) each);
      }
    }
    return line.toString();
  }
}
