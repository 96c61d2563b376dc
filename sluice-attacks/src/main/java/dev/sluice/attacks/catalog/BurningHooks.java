package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;

/** Sends batches of 1,000 messages to a queue whose script computes as long as it may. */
final class BurningHooks extends Attack {
  private static final String NAME = Target.TENANT + "hooks";
  private static final int CONNECTIONS = 8;
  private static final int BATCH = 1_000;

  /** Uses nearly all of the 100,000 instructions of one run, and almost no memory. */
  private static final String SCRIPT =
      "function on_enqueue(msg) local n = 0 for i = 1, 20000 do n = (n + i) % 7 end"
          + " return { fairness_key = 'k' .. n } end";

  BurningHooks() {
    super("hook-batches", Family.PROCESSOR, Access.TENANT_KEY, Bounds.of(100, 64, 8));
  }

  @Override
  void run(Attempt attempt) throws IOException, InterruptedException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      String config = "{\"durability\":\"OS\",\"on_enqueue\":\"%s\"}".formatted(SCRIPT);
      client.call("POST", "/v1/queues", "{\"name\":\"%s\",\"config\":%s}".formatted(NAME, config));
    }
    String body =
        "{\"messages\":[" + "{\"payload\":\"x\"},".repeat(BATCH - 1) + "{\"payload\":\"x\"}]}";
    attempt.repeat(CONNECTIONS, () -> send(attempt, body));
    // Its connections are closed by now; one queue remains.
  }

  private static void send(Attempt attempt, String body) throws IOException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      while (attempt.isRunning()) {
        if (client.call("POST", "/v1/queues/%s/messages".formatted(NAME), body).status() >= 400) {
          attempt.countRefused();
        }
      }
    }
  }
}
