package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.broker.QueueConfig;
import dev.sluice.server.http.JsonCodec;
import dev.sluice.server.operations.QueueConfigFields;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A message that always fails, among good ones, over HTTP. */
@Timeout(240)
final class PoisonMessageTest {
  private static final long FIRST_MS = 40;
  private static final int ATTEMPTS = 5;
  private static final int GOOD = 50;

  @TempDir private Path dir;
  private TestServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
    http = new HttpProbe(server.server.httpPort());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private String create(String config) {
    String body = "{\"name\":\"q\",\"config\":%s}".formatted(config);
    assertThat(http.post("/v1/queues", body).status()).isEqualTo(201);
    return "/v1/queues/q";
  }

  private void send(String queue, String payload) {
    String body = "{\"payload\":\"%s\"}".formatted(payload);
    assertThat(http.post(queue + "/messages", body).status()).isEqualTo(200);
  }

  private void settle(String queue, JsonNode delivery, String action) {
    JsonNode settled =
        http.post(
                queue + "/settle",
                "{\"settlements\":[{\"id\":\"%s\",\"lease_token\":\"%s\",%s}]}"
                    .formatted(
                        delivery.get("id").asText(), delivery.get("lease_token").asText(), action))
            .json();
    assertThat(settled.toString()).isEqualTo("{\"results\":[{}]}");
  }

  private long depth(String queue) {
    return http.get("/v1/queues/" + queue).json().at("/stats/depth").asLong();
  }

  /** Checks only lower bounds of delays, because a slow machine makes them longer. */
  @Test
  void poisonMessage_isDeliveredMaxAttemptsTimes_withGrowingDelays_thenDeadLettered() {
    String queue =
        create("{\"max_attempts\":%d,\"retry_delay_ms\":%d}".formatted(ATTEMPTS, FIRST_MS));
    for (int i = 0; i < GOOD; i++) {
      send(queue, i == GOOD / 2 ? "poison" : "good" + i);
    }
    Set<String> good = new HashSet<>();
    List<Long> gaps = new ArrayList<>();
    int deliveries = 0;
    long failedAt = 0;
    while (depth("q.dlq") == 0 || good.size() < GOOD - 1) {
      for (JsonNode each :
          http.post(queue + "/receive", "{\"max_messages\":5,\"wait_ms\":200}")
              .json()
              .get("deliveries")) {
        if (!each.get("payload").asText().equals("poison")) {
          assertThat(good.add(each.get("payload").asText())).isTrue();
          settle(queue, each, "\"action\":\"ack\"");
          continue;
        }
        assertThat(each.get("attempts").asInt()).isEqualTo(deliveries++);
        if (failedAt != 0) {
          gaps.add(System.nanoTime() - failedAt);
        }
        failedAt = System.nanoTime();
        settle(queue, each, "\"action\":\"nack\",\"error\":\"poison\"");
      }
    }
    assertThat(deliveries).isEqualTo(ATTEMPTS);
    for (int i = 0; i < gaps.size(); i++) {
      assertThat(gaps.get(i))
          .as("delay %d", i)
          .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos((FIRST_MS << i) / 2));
    }
    assertThat(depth("q")).isZero();
    JsonNode dead = http.get("/v1/queues/q.dlq/browse").json().at("/messages/0");
    assertThat(dead.get("payload").asText()).isEqualTo("poison");
    assertThat(dead.at("/dead_letter/reason").asText()).isEqualTo("MAX_ATTEMPTS");
    assertThat(dead.at("/dead_letter/attempts").asInt()).isEqualTo(ATTEMPTS);
    assertThat(dead.at("/dead_letter/error").asText()).isEqualTo("poison");
  }

  @Test
  void newQueue_hasTheDefaultsOfTheBroker_andSoDoesTheOpenApiDocument() {
    String queue = create("{}");
    JsonNode config = http.get(queue).json().get("config");
    assertThat(config.toString())
        .isEqualTo(
            new String(
                JsonCodec.write(QueueConfigFields.of(QueueConfig.defaults())),
                StandardCharsets.UTF_8));
    assertThat(config.get("max_attempts").asInt()).isEqualTo(QueueConfig.DEFAULT_MAX_ATTEMPTS);
    JsonNode described =
        http.get("/openapi.json").json().at("/components/schemas/QueueConfig/properties");
    described
        .properties()
        .forEach(
            field ->
                assertThat(field.getValue().path("default").asText(""))
                    .as(field.getKey())
                    .isEqualTo(config.path(field.getKey()).asText("")));
  }

  @Test
  void nackWithADelay_delaysTheMessage_andOneOutOfRangeIsRefused() {
    String queue = create("{}");
    send(queue, "x");
    JsonNode first = http.post(queue + "/receive", "{\"wait_ms\":20000}").json();
    long before = System.currentTimeMillis();
    JsonNode refused =
        http.post(
                queue + "/settle",
                "{\"settlements\":[{\"id\":\"%s\",\"action\":\"nack\",\"delay_ms\":604800001}]}"
                    .formatted(first.at("/deliveries/0/id").asText()))
            .json();
    assertThat(refused.at("/results/0/error/message").asText())
        .startsWith("delay must be from PT0S to PT168H");
    settle(queue, first.at("/deliveries/0"), "\"action\":\"nack\",\"delay_ms\":3600000");
    JsonNode waiting = http.get(queue + "/browse").json().at("/messages/0");
    assertThat(waiting.get("attempts").asInt()).isEqualTo(1);
    assertThat(waiting.get("available_at_ms").asLong()).isGreaterThan(before + 3_000_000);
    assertThat(http.get(queue).json().at("/stats/delayed").asInt()).isEqualTo(1);
  }
}
