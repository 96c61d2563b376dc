package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.ServerProcess;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server of 160 MB, which ends when its heap is used up, and callers who fill it. */
@Tag("any-jdk")
@Timeout(300)
final class HeapQuotaTest {
  private static final int MANY = 500;
  private static final int BATCH = 500;

  private static ServerProcess server;
  private static HttpProbe http;

  @BeforeAll
  static void start(@TempDir Path dir) throws IOException {
    server = ServerMain.start(dir, "-Xmx160m", "-XX:+ExitOnOutOfMemoryError");
    http = new HttpProbe(server.httpPort());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static HttpProbe.Reply create(String name, int script) {
    String source =
        "function on_enqueue(m) return { fairness_key = '%d' } end --%s"
            .formatted(script, "x".repeat(60_000));
    return http.post(
        "/v1/queues",
        "{\"name\":\"%s\",\"config\":{\"on_enqueue\":\"%s\"}}".formatted(name, source));
  }

  @Test
  void queuesWithLargeScripts_areRefusedBeforeTheHeapIsFull() {
    int made = 0;
    HttpProbe.Reply last = create("s0", 0);
    while (last.status() == 201 && made < MANY) {
      made++;
      last = create("s" + made, made);
    }
    assertThat(last.status()).isEqualTo(429);
    assertThat(last.code()).isEqualTo("RESOURCE_EXHAUSTED");
    assertThat(last.message()).contains("queues, hooks and configuration must take at most");
    assertThat(made).isGreaterThan(20);
    for (int i = 0; i < MANY; i++) {
      assertThat(create("refused", made + i).status()).isEqualTo(429);
    }
    assertThat(http.delete("/v1/queues/s0").status()).isEqualTo(204);
    assertThat(create("again", MANY * 4).status()).isEqualTo(201);
    assertThat(server.isAlive()).isTrue();
  }

  @Test
  void messagesOfManyKeys_areRefusedBeforeTheHeapIsFull() {
    assertThat(http.post("/v1/queues", "{\"name\":\"keys\"}").status()).isEqualTo(201);
    HttpProbe.Reply last = enqueue(0);
    int batches = 1;
    while (last.status() == 200 && batches < MANY) {
      last = enqueue(batches++);
    }
    assertThat(last.status()).isEqualTo(429);
    assertThat(last.message()).contains("messages and remembered ids must take at most");
    assertThat(http.post("/v1/queues/keys/purge", "").json().get("purged").asInt()).isPositive();
    assertThat(enqueue(0).status()).isEqualTo(200);
    assertThat(server.isAlive()).isTrue();
  }

  /** Each message has a fairness key and sixteen throttle keys of its own. */
  private static HttpProbe.Reply enqueue(int batch) {
    StringBuilder body = new StringBuilder("{\"messages\":[");
    for (int i = 0; i < BATCH; i++) {
      String name = "x".repeat(200) + batch + "." + i;
      body.append(i == 0 ? "" : ",").append("{\"payload\":\"\",\"fairness_key\":\"").append(name);
      body.append("\",\"throttle_keys\":{");
      for (int t = 0; t < 16; t++) {
        body.append(t == 0 ? "" : ",")
            .append("\"")
            .append(name)
            .append('.')
            .append(t)
            .append("\":1");
      }
      body.append("}}");
    }
    return http.post("/v1/queues/keys/messages", body.append("]}").toString());
  }
}
