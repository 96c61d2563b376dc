package dev.sluice.attacks.catalog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Asks over HTTP for paths of thousands of segments, which no route has. */
final class ManySegments extends Attack {
  private static final int CONNECTIONS = 6;
  private static final int AT_ONCE = 8;

  /** As long as a head may be. */
  private static final String PATH = "/".repeat(15_000);

  ManySegments() {
    super("many-segments", Family.PROCESSOR, Access.NO_KEY, Bounds.of(200, 128, 16));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    String head = "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(PATH);
    byte[] requests = head.repeat(AT_ONCE).getBytes(StandardCharsets.US_ASCII);
    attempt.repeat(CONNECTIONS, () -> ask(attempt, requests));
  }

  private static void ask(Attempt attempt, byte[] requests) throws IOException {
    try (Attempt.Connection connection = attempt.http()) {
      while (attempt.isRunning()) {
        connection.send(requests);
        connection.drain();
      }
    }
  }
}
