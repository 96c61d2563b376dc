package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;

/**
 * Sends complete requests that wait for messages and are padded with spaces: large ones first, then
 * smaller ones for the memory that is left.
 */
final class PaddedPolls extends Attack {
  private static final int[] SIZES = {20 << 20, 2 << 20, 128 << 10, 8 << 10, 500};

  /** Connections for each size. */
  private static final int CONNECTIONS = 8;

  private static final String PATH = "/v1/queues/%s/receive".formatted(Attacks.QUEUE);

  PaddedPolls() {
    super("padded-polls", Family.BUDGETS, Access.TENANT_KEY, Bounds.of(400, 384, 96));
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(
        SIZES.length * CONNECTIONS,
        number -> {
          int size = number / CONNECTIONS;
          attempt.pause(300L * size);
          attempt.repeat(1, () -> poll(attempt, number, SIZES[size]));
        });
  }

  private static void poll(Attempt attempt, int number, int size) throws IOException {
    try (HttpClient client = attempt.httpClient(attempt.tenantKey(number))) {
      while (attempt.isRunning()) {
        client.callPadded("POST", PATH, size, "{\"wait_ms\":30000}");
      }
    }
  }
}
