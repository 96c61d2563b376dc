package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Sends all of a large body but its end, of which there is a byte now and then. */
final class SlowBodies extends Attack {
  private static final int CONNECTIONS = 24;
  private static final int BODY_BYTES = 4 << 20;
  private static final int SENT_BYTES = 2 << 20;
  private static final String PATH = "/v1/queues/%snone/messages".formatted(Target.TENANT);

  private byte[] beginning = {};

  SlowBodies(String name, Access access) {
    super(name, Family.BUDGETS, access, Bounds.of(200, 128, 48));
  }

  @Override
  void prepare() {
    beginning = ("{\"payload\":\"" + "x".repeat(SENT_BYTES)).getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(CONNECTIONS, () -> dribble(attempt));
  }

  private void dribble(Attempt attempt) throws IOException, InterruptedException {
    try (Attempt.Connection connection = attempt.http()) {
      String head = HttpClient.head("POST", PATH, attempt.key(), BODY_BYTES);
      connection.send(head.getBytes(StandardCharsets.US_ASCII));
      connection.send(beginning);
      while (attempt.isRunning()) {
        attempt.pause(200);
        connection.send(new byte[] {'x'});
      }
    }
  }
}
