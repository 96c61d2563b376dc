package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.HttpProbe.Reply;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class HttpQueuesTest {
  @TempDir static Path dir;
  private static SluiceServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start() throws IOException {
    server = SluiceServer.start(ServerConfig.defaults(dir).withListen(ListenConfig.ANYWHERE));
    http = new HttpProbe(server.httpPort());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  /** A queue of that name, and its path. */
  private static String queue(String name) {
    Reply made = http.post("/v1/queues", "{\"name\":\"%s\"}".formatted(name));
    assertThat(made.status()).isEqualTo(201);
    return "/v1/queues/" + name;
  }

  private static JsonNode receiveOne(String queue) {
    Reply received = http.post(queue + "/receive", "{\"wait_ms\":10000}");
    assertThat(received.status()).isEqualTo(200);
    assertThat(received.json().get("deliveries")).hasSize(1);
    return received.json().at("/deliveries/0");
  }

  private static Reply settle(String queue, JsonNode delivery, String action) {
    return http.post(
        queue + "/settle",
        "{\"settlements\":[{\"id\":\"%s\",\"lease_token\":\"%s\",%s}]}"
            .formatted(delivery.get("id").asText(), delivery.get("lease_token").asText(), action));
  }

  private static JsonNode stats(String queue) {
    return http.get(queue).json().get("stats");
  }

  @Test
  void create_returnsTheWholeConfiguration() {
    String config =
        "{\"lease_timeout_ms\":5000,\"durability\":\"OS\",\"on_enqueue\":\"function on_enqueue(m) return"
            + " {} end\",\"on_failure\":\"function on_failure(m) return {action='retry'} end\","
            + "\"max_attempts\":3,\"retry_delay_ms\":500,\"max_retry_delay_ms\":4000,"
            + "\"strict_order\":true,"
            + "\"max_depth\":100,\"max_depth_per_key\":10,\"max_in_flight_per_key\":5,"
            + "\"time_to_live_ms\":60000,\"dedupe_window_ms\":1000,\"strict_throttle_keys\":true}";
    Reply made = http.post("/v1/queues", "{\"name\":\"full\",\"config\":%s}".formatted(config));
    assertThat(made.status()).as(made.response().body()).isEqualTo(201);
    assertThat(made.json().get("config").toString()).isEqualTo(config);
    assertThat(http.get("/v1/queues/full").json()).isEqualTo(made.json());
    assertThat(http.post("/v1/queues", "{\"name\":\"full\"}").code()).isEqualTo("ALREADY_EXISTS");
  }

  @Test
  void update_replacesConfiguration() {
    String queue = queue("updated");
    Reply updated = http.put(queue, "{\"max_attempts\":7}");
    assertThat(updated.status()).isEqualTo(200);
    assertThat(updated.json().at("/config/max_attempts").asInt()).isEqualTo(7);
    assertThat(http.put("/v1/queues/absent", "{}").status()).isEqualTo(404);
  }

  @Test
  void query_mayBeEmptyAndEndInAnd() {
    String queue = queue("queried");
    for (String path :
        List.of(
            "/v1/queues?", queue + "/fairness-keys?limit=1&", queue + "/fairness-keys?prefix")) {
      assertThat(http.get(path).status()).as(path).isEqualTo(200);
    }
  }

  @Test
  void delete_removesQueue() {
    String queue = queue("deleted");
    Reply deleted = http.delete(queue);
    assertThat(deleted.status()).isEqualTo(204);
    assertThat(deleted.response().body()).isEmpty();
    assertThat(http.get(queue).code()).isEqualTo("NOT_FOUND");
    assertThat(http.delete(queue).status()).isEqualTo(404);
  }

  @Test
  void stats_haveTheFirstKeysByName() {
    String queue = queue("keyed");
    String messages =
        IntStream.range(0, 1_001)
            .mapToObj(i -> "{\"payload\":\"x\",\"fairness_key\":\"k%d\"}".formatted(9_999 - i))
            .collect(Collectors.joining(","));
    http.post(queue + "/messages", "{\"messages\":[%s]}".formatted(messages));
    List<String> keys = stats(queue).get("fairness_keys").findValuesAsText("fairness_key");
    assertThat(keys).hasSize(1_000).isSorted().doesNotContain("k9999");
    assertThat(http.get(queue + "/fairness-keys?prefix=k9999").json().get("fairness_keys"))
        .hasSize(1);
  }

  @Test
  void list_showsDepthsAndTotals() {
    String queue = queue("listed");
    http.post(queue + "/messages", "{\"payload\":\"x\"}");
    JsonNode all = http.get("/v1/queues").json().get("queues");
    assertThat(all)
        .filteredOn(each -> each.get("name").asText().equals("listed"))
        .singleElement()
        .matches(each -> each.get("depth").asInt() == 1)
        .extracting(each -> each.get("totals").toString())
        .isEqualTo("{\"enqueued\":1,\"delivered\":0,\"acked\":0,\"failed\":0,\"dead_lettered\":0}");
    assertThat(stats(queue).at("/totals/enqueued").asInt()).isEqualTo(1);
  }

  @Test
  void message_isDeliveredWithAllItsFields() {
    String queue = queue("whole");
    Reply enqueued =
        http.post(
            queue + "/messages",
            "{\"payload\":\"héllo\",\"headers\":{\"a\":\"b\"},\"fairness_key\":\"k\",\"weight\":3,"
                + "\"priority\":1,\"throttle_keys\":{\"t\":2},\"delay_ms\":1,"
                + "\"time_to_live_ms\":60000,\"dedupe_id\":\"d\"}");
    assertThat(enqueued.status()).isEqualTo(200);
    JsonNode delivery = receiveOne(queue);
    assertThat(delivery.get("id")).isEqualTo(enqueued.json().at("/ids/0"));
    assertThat(delivery.get("payload").asText()).isEqualTo("héllo");
    assertThat(delivery.at("/headers/a").asText()).isEqualTo("b");
    assertThat(delivery.get("fairness_key").asText()).isEqualTo("k");
    assertThat(delivery.get("weight").asInt()).isEqualTo(3);
    assertThat(delivery.at("/throttle_keys/0").asText()).isEqualTo("t");
    assertThat(settle(queue, delivery, "\"action\":\"ack\"").json().toString())
        .isEqualTo("{\"results\":[{}]}");
    assertThat(stats(queue).get("depth").asInt()).isZero();
    Reply again = settle(queue, delivery, "\"action\":\"ack\"");
    assertThat(again.status()).isEqualTo(200);
    assertThat(again.json().at("/results/0/error/code").asText()).isEqualTo("NOT_FOUND");
  }

  @Test
  void batch_isStoredTogether_andBinaryIsReturnedAsBase64() {
    String queue = queue("batch");
    Reply enqueued =
        http.post(
            queue + "/messages",
            "{\"messages\":[{\"payload_base64\":\"/wA=\"},{\"payload\":\"text\"}]}");
    assertThat(enqueued.json().get("ids")).hasSize(2);
    JsonNode peeked = http.get(queue + "/browse?max_messages=5").json().get("messages");
    assertThat(peeked).hasSize(2);
    assertThat(peeked.at("/0/payload_base64").asText()).isEqualTo("/wA=");
    assertThat(peeked.at("/0").has("payload")).isFalse();
    assertThat(peeked.at("/1/payload").asText()).isEqualTo("text");
    assertThat(http.get(queue + "/browse?max_messages=1").json().get("messages")).hasSize(1);
    Reply half = http.post(queue + "/messages", "{\"messages\":[{\"payload\":\"x\"},{}]}");
    assertThat(half.status()).isEqualTo(400);
    assertThat(stats(queue).get("depth").asInt()).isEqualTo(2);
  }

  @Test
  void browse_truncatesPayloadsToTheRequestedSize() {
    String queue = queue("long");
    JsonNode ids =
        http.post(
                queue + "/messages",
                "{\"messages\":[{\"payload\":\"aé€\"},{\"payload_base64\":\"gICAgIA=\"},"
                    + "{\"payload\":\"\"}]}")
            .json()
            .get("ids");
    String[] cut = {"", "a", "a", "aé", "aé", "aé", "aé€", "aé€"};
    for (int bytes = 0; bytes < cut.length; bytes++) {
      JsonNode first =
          http.get(queue + "/browse?max_payload_bytes=" + bytes).json().at("/messages/0");
      assertThat(first.get("payload").asText()).isEqualTo(cut[bytes]);
      assertThat(first.get("payload_size").asInt()).isEqualTo(6);
      assertThat(first.get("payload_truncated").asBoolean()).isEqualTo(bytes < 6);
    }
    JsonNode whole = http.get(queue + "/browse").json().get("messages");
    assertThat(whole.findValues("payload_truncated")).allMatch(each -> !each.asBoolean());
    String rest = "/browse?max_payload_bytes=4&from=" + ids.get(1).asText();
    JsonNode second = http.get(queue + rest).json().get("messages");
    assertThat(second.findValuesAsText("id"))
        .containsExactly(ids.get(1).asText(), ids.get(2).asText());
    assertThat(second.at("/0/payload_base64").asText()).isEqualTo("gICAgA==");
    assertThat(second.at("/0/payload_size").asInt()).isEqualTo(5);
    assertThat(http.get(queue("long.other") + rest).message())
        .contains("from must be the id of a message of the queue long.other, but was ");
  }

  @Test
  void browse_cutsNoCharacterInHalf() {
    String queue = queue("party");
    http.post(queue + "/messages", "{\"payload\":\"🎉hello\"}");
    String[] cut = {"", "", "", "", "🎉", "🎉h"};
    for (int bytes = 0; bytes < cut.length; bytes++) {
      JsonNode first =
          http.get(queue + "/browse?max_payload_bytes=" + bytes).json().at("/messages/0");
      assertThat(first.path("payload").asText("none")).isEqualTo(cut[bytes]);
      assertThat(first.get("payload_size").asInt()).isEqualTo(9);
      assertThat(first.get("payload_truncated").asBoolean()).isTrue();
    }
  }

  @Test
  void browse_boundsTheTotalSize() {
    String queue = queue("heavy");
    String payload = "x".repeat(1 << 20);
    for (int i = 0; i < 20; i++) {
      http.post(queue + "/messages", "{\"payload\":\"" + payload + "\"}");
    }
    assertThat(http.get(queue + "/browse?max_messages=100").json().get("messages")).hasSize(15);
    assertThat(
            http.get(queue + "/browse?max_messages=100&max_payload_bytes=0").json().get("messages"))
        .hasSize(20);
  }

  @Test
  void settle_extendsReleasesAndNacks() {
    String queue = queue("settled");
    http.post(queue + "/messages", "{\"payload\":\"x\"}");
    JsonNode first = receiveOne(queue);
    Reply extended = settle(queue, first, "\"action\":\"extend\",\"lease_timeout_ms\":60000");
    assertThat(extended.json().toString()).isEqualTo("{\"results\":[{}]}");
    settle(queue, first, "\"action\":\"release\"");
    JsonNode second = receiveOne(queue);
    assertThat(second.get("attempts").asInt()).isZero();
    settle(queue, second, "\"action\":\"nack\",\"error\":\"no\"");
    assertThat(receiveOne(queue).get("attempts").asInt()).isEqualTo(1);
  }

  @Test
  void redrive_returnsDeadLetters() {
    String queue = queue("dying");
    http.put(queue, "{\"max_attempts\":1}");
    http.post(queue + "/messages", "{\"payload\":\"x\"}");
    settle(queue, receiveOne(queue), "\"action\":\"nack\",\"error\":\"broken\"");
    JsonNode dead = http.get("/v1/queues/dying.dlq/browse").json().at("/messages/0/dead_letter");
    assertThat(dead.get("queue").asText()).isEqualTo("dying");
    assertThat(dead.get("reason").asText()).isEqualTo("MAX_ATTEMPTS");
    assertThat(dead.get("error").asText()).isEqualTo("broken");
    Reply redriven = http.post("/v1/queues/dying.dlq/redrive", "{\"count\":5}");
    assertThat(redriven.json().toString()).isEqualTo("{\"redriven\":1}");
    assertThat(http.post(queue + "/redrive", "").status()).isEqualTo(400);
    assertThat(http.post(queue + "/purge", "").json().toString()).isEqualTo("{\"purged\":1}");
  }

  @Test
  void receive_waitsForAMessage() {
    String queue = queue("waited");
    CompletableFuture<Reply> waiting = http.postLater(queue + "/receive", "{\"wait_ms\":20000}");
    await().until(() -> stats(queue).get("consumers").asInt() == 1);
    http.post(queue + "/messages", "{\"payload\":\"x\"}");
    assertThat(waiting.join().json().at("/deliveries/0/payload").asText()).isEqualTo("x");
  }

  @Test
  void receive_withoutMessagesIsEmpty() {
    Reply received = http.post(queue("empty") + "/receive", "{\"wait_ms\":1}");
    assertThat(received.json().toString()).isEqualTo("{\"deliveries\":[]}");
  }

  @Test
  void receive_manyWaitWithoutThreads() {
    String queue = queue("crowded");
    int many = 100;
    CompletableFuture<?>[] waiting = new CompletableFuture<?>[many];
    for (int i = 0; i < many; i++) {
      waiting[i] = http.postLater(queue + "/receive", "{\"wait_ms\":20000}");
    }
    await().until(() -> stats(queue).get("consumers").asInt() == many);
    for (int i = 0; i < many; i++) {
      http.post(queue + "/messages", "{\"payload\":\"x\"}");
    }
    CompletableFuture.allOf(waiting).join();
    assertThat(stats(queue).get("in_flight").asInt()).isEqualTo(many);
  }

  @Test
  void receive_endsWhenTheClientLeaves() throws IOException {
    String queue = queue("left");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      String body = "{\"wait_ms\":30000}";
      String request =
          "POST %s/receive HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(queue, body.length(), body);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      await().until(() -> stats(queue).get("consumers").asInt() == 1);
    }
    await().until(() -> stats(queue).get("consumers").asInt() == 0);
  }

  @Test
  void receive_keepsPipelinedRequests() throws IOException {
    String queue = queue("ahead");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.httpPort())) {
      String body = "{\"wait_ms\":1000}";
      String first =
          "POST %s/receive HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(queue, body.length(), body);
      socket.getOutputStream().write(first.getBytes(StandardCharsets.US_ASCII));
      await().until(() -> stats(queue).get("consumers").asInt() == 1);
      String second = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(second.getBytes(StandardCharsets.US_ASCII));
      String answers =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      assertThat(answers).contains("{\"deliveries\":[]}").contains("{\"status\":\"alive\"}");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "POST|/v1/queues|{\"nam\":\"x\"}|400|nam",
        "POST|/v1/queues|{}|400|name is required",
        "POST|/v1/queues|{\"name\":1}|400|name must be text, but was 1",
        "POST|/v1/queues|{\"name\":\"\"}|400|queue must not be empty",
        "POST|/v1/queues|{\"name\":\"x\",\"name\":\"y\"}|400|name",
        "POST|/v1/queues|{\"name\":|400|body must be JSON",
        "POST|/v1/queues|{\"name\":\"x\"} {}|400|body",
        "POST|/v1/queues|null|400|body must be a JSON object",
        "POST|/v1/queues|[]|400|body must be an object",
        "POST|/v1/queues|``|400|body must be an object",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"lease_timeout_ms\":\"5\"}}|400|config.lease_timeout_ms",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"lease_timeout_ms\":1.5}}|400|config.lease_timeout_ms",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"lease_timeout_ms\":5}}|400|leaseTimeout",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"strict_order\":1}}|400|config.strict_order",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"max_depth\":[]}}|400|config.max_depth",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"max_attempts\":1e99}}|400|max_attempts",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"durability\":\"NO\"}}|400|ALWAYS",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"durability\":0}}|400|config.durability",
        "POST|/v1/queues|{\"name\":\"x\",\"config\":{\"on_enqueue\":\"(\"}}|400|on_enqueue",
        "GET|/v1/queues/absent||404|absent",
        "POST|/v1/queues/absent/messages|{\"payload\":\"x\"}|404|absent",
        "POST|/v1/queues/bad/messages|{}|400|payload",
        "POST|/v1/queues/bad/messages|{\"payload\":\"x\",\"payload_base64\":\"\"}|400|both",
        "POST|/v1/queues/bad/messages|{\"payload_base64\":\"*\"}|400|base64",
        "POST|/v1/queues/bad/messages|{\"messages\":[]}|400|messages",
        "POST|/v1/queues/bad/messages|{\"messages\":[null]}|400|messages[0]",
        "POST|/v1/queues/bad/messages|{\"messages\":[{\"x\":1}]}|400|messages[0].x",
        "POST|/v1/queues/bad/messages|{\"messages\":{}}|400|messages must be a list",
        "POST|/v1/queues/bad/messages|{\"messages\":[],\"payload\":\"x\"}|400|payload",
        "POST|/v1/queues/bad/messages|{\"payload\":\"x\",\"weight\":-1}|400|weight",
        "POST|/v1/queues/bad/messages|{\"payload\":\"x\",\"headers\":{\"a\":null}}|400|headers.a",
        "POST|/v1/queues/bad/messages|{\"payload\":\"x\",\"headers\":{\"a\":1}}|400|headers.a",
        "POST|/v1/queues/bad/receive|{\"max_messages\":0}|400|max_messages",
        "POST|/v1/queues/bad/receive|{\"max_messages\":1001}|400|max_messages",
        "POST|/v1/queues/bad/receive|{\"wait_ms\":30001}|400|wait_ms",
        "POST|/v1/queues/bad/receive|{\"wait_ms\":-1}|400|wait_ms",
        "POST|/v1/queues/absent/receive|{}|404|absent",
        "POST|/v1/queues/bad/settle|{}|400|settlements is required",
        "POST|/v1/queues/bad/settle|{\"settlements\":[null]}|400|settlements[0]",
        "POST|/v1/queues/bad/settle|{\"settlements\":[{\"action\":\"ack\"}]}|400|id",
        "GET|/v1/queues/bad/browse?max_messages=x||400|max_messages",
        "GET|/v1/queues/bad/browse?max_messages=0||400|max_messages",
        "GET|/v1/queues/bad/browse?max_payload_bytes=-1||400|max_payload_bytes must be from 0",
        "GET|/v1/queues/bad/browse?from=1||400|from must be that of a message, a UUID, but was 1",
        "GET|/v1/queues/bad/browse?max_message=1||400|must be one of max_messages, max_payload_bytes, from, but was max_message",
        "GET|/v1/queues/bad/fairness-keys?limit=1&sort=x||400|must be one of order, limit, prefix, but was sort",
        "GET|/v1/queues/bad/fairness-keys?limit=1&limit=2||400|query parameter must occur once: limit",
        "GET|/v1/queues/bad/fairness-keys?limit=1&li%6Dit=1||400|query parameter must occur once: limit",
        "GET|/v1/queues?limit=1||400|GET /v1/queues takes no query parameters: limit",
        "DELETE|/v1/queues/bad?force||400|DELETE /v1/queues/{queue} takes no query parameters: force",
        "POST|/v1/queues/bad/purge?x=1||400|takes no query parameters: x",
        "POST|/v1/queues/bad/redrive|{\"count\":-1}|400|count",
        "POST|/v1/queues/bad/redrive|{\"run_hook\":\"x\"}|400|run_hook",
        "POST|/v1/queues/absent/purge||404|absent",
        "PATCH|/v1/queues|{}|405|GET, POST",
        "DELETE|/v1/queues/bad/browse||405|GET",
        "GET|/v1/queues/||400|queue must not be empty",
        "GET|/none||404|/",
        "GET|/v1/queues/bad/nothing||404|nothing",
      })
  void badInput_isRefusedWithAMessage(
      String method, String path, String body, int status, String words) {
    http.post("/v1/queues", "{\"name\":\"bad\"}");
    Reply refused =
        http.send(
            http.request(path)
                .method(
                    method,
                    java.net.http.HttpRequest.BodyPublishers.ofString(body == null ? "" : body)));
    assertThat(refused.message()).contains(words);
    assertThat(refused.status()).isEqualTo(status);
    assertThat(refused.header("Content-Type")).isEqualTo("application/json");
    assertThat(refused.header("Allow")).isEqualTo(status == 405 ? words : "");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"action\":\"fly\"|fly",
        "\"action\":\"ack\",\"error\":\"x\"|nack",
        "\"action\":\"release\",\"delay_ms\":5|nack",
        "\"action\":\"nack\",\"lease_timeout_ms\":5|extend",
        "\"action\":\"ack\",\"lease_token\":\"?\"|lease_token",
        "\"lease_token\":\"1.1\"|settlements[0].action",
      })
  void settle_ofInvalidCombinations_isRefused(String fields, String words) {
    http.post("/v1/queues", "{\"name\":\"bad\"}");
    String id = "00000001-0000-8010-8000-000000000000";
    Reply refused =
        http.post(
            "/v1/queues/bad/settle",
            "{\"settlements\":[{\"id\":\"%s\",%s}]}".formatted(id, fields));
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).contains(words);
  }
}
