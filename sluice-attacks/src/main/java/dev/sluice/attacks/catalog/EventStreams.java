package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Takes as many streams of events as there are, and does not read them. */
final class EventStreams extends Attack {
  private static final int STREAMS = 80;

  EventStreams() {
    super("event-streams", Family.CONNECTIONS, Access.POWERLESS_KEY, Bounds.of(1_000, 4, 1));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.repeat(STREAMS, () -> listen(attempt));
  }

  private static void listen(Attempt attempt) throws IOException, InterruptedException {
    try (Attempt.Connection connection = attempt.http()) {
      String head = HttpClient.head("GET", "/v1/events", attempt.key(), -1);
      connection.send(head.getBytes(StandardCharsets.US_ASCII));
      if (!connection.isAccepted()) {
        attempt.countRefused();
        attempt.pause(500);
        return;
      }
      attempt.holdOn();
    }
  }
}
