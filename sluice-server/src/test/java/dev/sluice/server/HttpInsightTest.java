package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.HttpProbe.Reply;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requests of the console for fairness keys, throttle keys, limits and waiting lists. */
@Timeout(60)
final class HttpInsightTest {
  private static final long LONG_PATIENCE_MS = 600_000;

  @TempDir Path dir;
  private GovernedServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = new GovernedServer(dir, LONG_PATIENCE_MS);
    http = server.http;
    http.post("/v1/queues", "{\"name\":\"q\"}");
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void send(String message) {
    assertThat(http.post("/v1/queues/q/messages", message).status()).isEqualTo(200);
  }

  @Test
  void keys_reportDepthDeliveriesAndThrottling() {
    http.put("/v1/throttles/slow", "{\"rate_per_second\":0.001,\"burst\":1}");
    for (int i = 0; i < 3; i++) {
      send(
          "{\"payload\":\"x\",\"fairness_key\":\"a\",\"weight\":2,\"throttle_keys\":{\"slow\":1}}");
    }
    send("{\"payload\":\"x\",\"fairness_key\":\"b\",\"delay_ms\":3600000}");
    http.post("/v1/queues/q/receive", "{\"max_messages\":5,\"wait_ms\":500}");
    JsonNode found = http.get("/v1/queues/q/fairness-keys").json();
    assertThat(found.get("active").asInt()).isEqualTo(2);
    assertThat(found.get("waiting").asInt()).isEqualTo(1);
    assertThat(found.get("ready_weight").asInt()).isZero();
    assertThat(found.get("matching").asInt()).isEqualTo(2);
    assertThat(found.get("max_in_flight_per_key").asInt()).isZero();
    JsonNode a = found.at("/fairness_keys/0");
    assertThat(a.get("fairness_key").asText()).isEqualTo("a");
    assertThat(a.get("depth").asInt()).isEqualTo(3);
    assertThat(a.get("pending").asInt()).isEqualTo(2);
    assertThat(a.get("in_flight").asInt()).isEqualTo(1);
    assertThat(a.get("delivered").asInt()).isEqualTo(1);
    assertThat(a.at("/throttled/0/throttle_key").asText()).isEqualTo("slow");
    assertThat(a.at("/throttled/0/messages").asInt()).isEqualTo(2);
    assertThat(a.at("/throttled/0/weight").asInt()).isEqualTo(2);
    assertThat(found.at("/fairness_keys/1/delayed").asInt()).isEqualTo(1);
    assertThat(http.get("/v1/queues/q/fairness-keys?limit=1").json().get("fairness_keys"))
        .hasSize(1);
    JsonNode some = http.get("/v1/queues/q/fairness-keys?prefix=b&order=wait").json();
    assertThat(some.at("/fairness_keys/0/fairness_key").asText()).isEqualTo("b");
    assertThat(some.get("matching").asInt()).isEqualTo(1);
    assertThat(some.get("active").asInt()).isEqualTo(2);
    JsonNode waiters = http.get("/v1/throttles/slow/waiters").json().get("waiters");
    assertThat(waiters.toString())
        .isEqualTo(
            "[{\"queue\":\"q\",\"fairness_key\":\"a\",\"messages\":2,\"tokens\":2,\"next_tokens\":1}]");
    JsonNode throttle = http.get("/v1/throttles?limit=1").json().at("/throttles/0");
    assertThat(throttle.get("waiters").asInt()).isEqualTo(1);
    assertThat(throttle.get("taken").asInt()).isEqualTo(1);
  }

  @Test
  void aCostBeyondTheBurst_isReported() {
    http.put("/v1/throttles/small", "{\"rate_per_second\":4,\"burst\":5}");
    assertThat(http.get("/v1/throttles").json().at("/throttles/0").has("impossible_cost"))
        .isFalse();
    send("{\"payload\":\"x\",\"fairness_key\":\"a\",\"throttle_keys\":{\"small\":20}}");
    http.post("/v1/queues/q/receive", "{\"wait_ms\":200}");
    JsonNode throttle = http.get("/v1/throttles").json().at("/throttles/0");
    assertThat(throttle.get("impossible_cost").asLong()).isEqualTo(20);
    assertThat(throttle.has("next_grant_in_ms")).isFalse();
    JsonNode waiter = http.get("/v1/throttles/small/waiters").json().at("/waiters/0");
    assertThat(waiter.get("next_tokens").asLong()).isEqualTo(20);
    assertThat(waiter.get("tokens").asLong()).isEqualTo(20);
  }

  @Test
  void throttles_areSortedByWaiters() {
    http.put("/v1/throttles/idle", "{\"rate_per_second\":1,\"burst\":1}");
    http.put("/v1/throttles/shut", "{\"rate_per_second\":0,\"burst\":0}");
    send("{\"payload\":\"x\",\"throttle_keys\":{\"shut\":1}}");
    http.post("/v1/queues/q/receive", "{\"wait_ms\":200}");
    JsonNode one = http.get("/v1/throttles?limit=1").json();
    assertThat(one.get("total").asInt()).isEqualTo(2);
    assertThat(one.get("throttles")).hasSize(1);
    assertThat(one.at("/throttles/0/key").asText()).isEqualTo("shut");
    assertThat(one.at("/throttles/0").has("next_grant_in_ms")).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/queues/q/fairness-keys?limit=0, 'limit must be from 1 to 10000, but was 0'",
    "/v1/queues/q/fairness-keys?limit=10001, 'limit must be from 1 to 10000, but was 10001'",
    "/v1/queues/q/fairness-keys?limit=x, 'limit must be a whole number, but was x'",
    "/v1/queues/q/fairness-keys?order=name, 'order must be one of depth, wait, delivered, but was name'",
    "/v1/throttles?limit=0, 'limit must be from 1 to 10000, but was 0'",
    "/v1/throttles/k/waiters?limit=-1, 'limit must be from 1 to 10000, but was -1'",
    "/v1/governor/models/slow/waiting-list?limit=101, limit",
    "/v1/governor/models/slow/waiting-list?offset=-1, offset",
    "/v1/governor/models/none/waiting-list, none",
  })
  void invalidQuery_isRefused_withRuleAndValue(String path, String words) {
    Reply refused = http.get(path);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.message()).contains(words);
  }

  @ParameterizedTest
  @CsvSource({"/v1/queues/none/fairness-keys", "/v1/throttles/none/waiters", "/v1/limits/none"})
  void unknownNames_areNotFound(String path) {
    assertThat(http.get(path).status()).isEqualTo(404);
  }

  @Test
  void limits_reportTheirLevel_alsoByATemplate() {
    http.put("/v1/limits/one", "{\"rate_per_second\":0,\"burst\":10}");
    http.put("/v1/limits/t:*", "{\"rate_per_second\":0,\"burst\":5}");
    http.post("/v1/decide", "{\"costs\":{\"one\":4,\"t:a\":2}}");
    JsonNode all = http.get("/v1/limits").json().get("limits");
    assertThat(all.findValuesAsText("name")).containsExactly("one", "t:*");
    assertThat(all.at("/0/level").asDouble()).isEqualTo(6);
    assertThat(all.get(1).has("level")).isFalse();
    assertThat(http.get("/v1/limits/t%3Aa").json().get("level").asDouble()).isEqualTo(3);
    assertThat(http.get("/v1/limits/t%3Ab").json().get("level").asDouble()).isEqualTo(5);
  }

  @Test
  void waitingList_namesTicketsThatCanBeCanceled() {
    server.request("slow", 1_000);
    String ticket = server.ticket("slow", 100);
    server.ticket("slow", 50);
    JsonNode line = http.get("/v1/governor/models/slow/waiting-list?limit=1").json();
    assertThat(line.get("total").asInt()).isEqualTo(2);
    assertThat(line.get("tickets")).hasSize(1);
    JsonNode first = line.at("/tickets/0");
    assertThat(ticket).endsWith(first.get("ticket").asText());
    assertThat(first.get("queuePosition").asInt()).isEqualTo(1);
    assertThat(first.get("tokens").asInt()).isEqualTo(100);
    assertThat(first.get("etaMs").asLong()).isBetween(60_000L, 100_000L);
    assertThat(line.at("/etaMs/P1_user").asLong()).isGreaterThan(first.get("etaMs").asLong());
    assertThat(first.get("binding").asText()).isEqualTo("TOKENS");
    assertThat(line.at("/etaMs/P0_clinical").asLong()).isZero();
    assertThat(line.at("/binding/P0_clinical").asText()).isEqualTo("NONE");
    assertThat(line.at("/binding/P1_user").asText()).isEqualTo("TOKENS");
    assertThat(http.delete(ticket).status()).isEqualTo(204);
    assertThat(http.get("/v1/governor/models/slow/waiting-list?offset=1").json().get("tickets"))
        .isEmpty();
    assertThat(http.get("/v1/governor/models/slow/waiting-list").json().get("total").asInt())
        .isEqualTo(1);
  }

  @Test
  void waitingListWithoutAFreeSlot_hasNoEta() {
    server.ticketBehindOne();
    JsonNode line = http.get("/v1/governor/models/one/waiting-list").json();
    assertThat(line.get("etaMs").has("P1_user")).isFalse();
    assertThat(line.at("/binding/P1_user").asText()).isEqualTo("CONCURRENCY");
    assertThat(line.at("/tickets/0").has("etaMs")).isFalse();
    assertThat(line.at("/tickets/0/binding").asText()).isEqualTo("CONCURRENCY");
  }

  @Test
  void aKey_seesReadableQueuesAndThrottlesOnly() throws IOException {
    try (KeyedServer keyed = new KeyedServer(dir.resolve("keyed"))) {
      HttpProbe probe = new HttpProbe(keyed.httpPort());
      for (String queue : new String[] {"mine", "theirs"}) {
        call(probe, KeyedServer.BOOTSTRAP, "POST", "/v1/queues", "{\"name\":\"" + queue + "\"}");
      }
      for (String throttle : new String[] {"k", "secret"}) {
        String rate = "{\"rate_per_second\":0,\"burst\":0}";
        call(probe, KeyedServer.BOOTSTRAP, "PUT", "/v1/throttles/" + throttle, rate);
      }
      for (String queue : new String[] {"mine", "theirs"}) {
        String message = "{\"payload\":\"x\",\"throttle_keys\":{\"k\":1}}";
        String path = "/v1/queues/" + queue + "/";
        call(probe, KeyedServer.BOOTSTRAP, "POST", path + "messages", message);
        call(probe, KeyedServer.BOOTSTRAP, "POST", path + "receive", "{}");
      }
      String key = keyed.create("read:mine", "read:k").getSecret();
      assertThat(call(probe, key, "GET", "/v1/queues", "").response().body())
          .contains("mine")
          .doesNotContain("theirs");
      assertThat(call(probe, key, "GET", "/v1/queues/mine/fairness-keys", "").status())
          .isEqualTo(200);
      assertThat(call(probe, key, "GET", "/v1/queues/theirs/fairness-keys", "").status())
          .isEqualTo(403);
      assertThat(call(probe, key, "GET", "/v1/queues/none/fairness-keys", "").status())
          .isEqualTo(403);
      assertThat(call(probe, key, "GET", "/v1/throttles", "").response().body())
          .contains("\"k\"", "\"total\":1")
          .doesNotContain("secret");
      assertThat(call(probe, key, "GET", "/v1/throttles/k/waiters", "").response().body())
          .contains("mine")
          .doesNotContain("theirs");
      assertThat(call(probe, key, "GET", "/v1/throttles/secret/waiters", "").status())
          .isEqualTo(403);
      assertThat(call(probe, key, "GET", "/v1/limits/other", "").status()).isEqualTo(403);
    }
  }

  private static Reply call(HttpProbe probe, String key, String method, String path, String body) {
    return probe.send(
        probe
            .request(path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }
}
