package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Begins bodies that never end: of the rest there is a byte now and then. Large ones first, then
 * smaller ones into what room is left.
 */
final class SlowBodies extends Attack {
  private static final int[] SIZES = {2 << 20, 128 << 10, 8 << 10, 500};

  /** Of each size. */
  private static final int CONNECTIONS = 20;

  private static final int MISSING_BYTES = 1 << 20;
  private static final String[] PATHS = {
    "/v1/decide", "/v1/queues/%s/messages".formatted(Attacks.QUEUE)
  };

  SlowBodies(String name, Access access) {
    super(name, Family.BUDGETS, access, Bounds.of(200, 256, 96));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(
        SIZES.length * CONNECTIONS,
        number -> {
          int size = number / CONNECTIONS;
          attempt.pause(100L * size);
          attempt.repeat(1, () -> dribble(attempt, number, SIZES[size]));
        });
  }

  private void dribble(Attempt attempt, int number, int size)
      throws IOException, InterruptedException {
    String key = access() == Access.TENANT_KEY ? attempt.tenantKey(number) : attempt.key();
    byte[] sent = ("{\"payload\":\"" + "x".repeat(size)).getBytes(StandardCharsets.US_ASCII);
    try (Attempt.Connection connection = attempt.http()) {
      String head =
          HttpClient.head("POST", PATHS[number % PATHS.length], key, sent.length + MISSING_BYTES);
      connection.send(head.getBytes(StandardCharsets.US_ASCII));
      connection.send(sent);
      while (attempt.isRunning()) {
        attempt.pause(200);
        connection.send(new byte[] {'x'});
      }
    }
  }
}
