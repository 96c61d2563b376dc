package dev.sluice.attacks.catalog;

import dev.sluice.attacks.wire.HttpClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Enqueues and receives messages of 15 MB as JSON text, with the keys of several tenants. */
final class LargeTexts extends Attack {
  private static final String QUEUE = Target.TENANT + "texts";
  private static final String MESSAGES = "/v1/queues/%s/messages".formatted(QUEUE);
  private static final String RECEIVE = "/v1/queues/%s/receive".formatted(QUEUE);
  private static final int THREADS = 12;

  /** One thread in this many receives. */
  private static final int RECEIVERS = 3;

  private static final int CHARS = 7_900_000;
  private static final long PAUSE_MS = 10;

  private byte[] body = {};

  LargeTexts() {
    super("large-texts", Family.MEMORY, Access.TENANT_KEY, Bounds.of(2_000, 3_000, 600));
  }

  @Override
  void prepare() {
    // Two bytes each on the wire.
    String json = "{\"payload\":\"%s\"}".formatted("\u00e9".repeat(CHARS));
    body = json.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  void prepare(Attempt attempt) throws IOException {
    try (HttpClient client = attempt.httpClient(attempt.key())) {
      client.call("POST", "/v1/queues", "{\"name\":\"%s\"}".formatted(QUEUE));
      client.call("POST", "/v1/queues/%s/purge".formatted(QUEUE), "");
    }
  }

  @Override
  void run(Attempt attempt) throws InterruptedException {
    attempt.parallel(THREADS, number -> repeat(attempt, number));
  }

  private void repeat(Attempt attempt, int number) throws InterruptedException {
    while (attempt.isRunning()) {
      try (HttpClient client = attempt.httpClient(attempt.tenantKey(number))) {
        call(attempt, client, number);
      } catch (IOException broken) {
        attempt.cutOff();
      }
    }
  }

  private void call(Attempt attempt, HttpClient client, int number)
      throws IOException, InterruptedException {
    boolean receives = number % RECEIVERS == 0;
    byte[] content = receives ? new byte[0] : body;
    String path = receives ? RECEIVE : MESSAGES;
    String head = HttpClient.head("POST", path, attempt.tenantKey(number), content.length);
    client.send(head.getBytes(StandardCharsets.US_ASCII));
    client.send(content);
    if (client.readReply().status() >= 400) {
      attempt.countRefused();
    }
    attempt.pause(PAUSE_MS);
  }
}
