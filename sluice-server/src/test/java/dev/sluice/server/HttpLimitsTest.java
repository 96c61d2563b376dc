package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.http.routes.LimitRoutes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class HttpLimitsTest {
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

  private static void limit(String key, String rate, String burst) {
    Reply set =
        http.put(
            "/v1/limits/" + key, "{\"rate_per_second\":%s,\"burst\":%s}".formatted(rate, burst));
    assertThat(set.status()).isEqualTo(200);
  }

  private static Reply decide(String key, long tokens) {
    return http.post("/v1/decide", "{\"costs\":{\"%s\":%d}}".formatted(key, tokens));
  }

  @Test
  void limits_areSetListedAndRemoved() {
    limit("some%2Fkey", "5", "10");
    String listed = "{\"name\":\"some/key\",\"rate_per_second\":5.0,\"burst\":10.0,\"level\":10.0}";
    assertThat(http.get("/v1/limits").response().body()).contains(listed);
    assertThat(http.delete("/v1/limits/some%2Fkey").status()).isEqualTo(204);
    assertThat(http.get("/v1/limits").response().body()).doesNotContain("some/key");
    assertThat(http.delete("/v1/limits/some%2Fkey").code()).isEqualTo("NOT_FOUND");
  }

  @Test
  void semicolonInAPath_namesNoOtherLimit() {
    limit("tenant", "5", "10");
    limit("tenant%3Beu", "6", "10");
    for (String path :
        List.of("/v1/limits/tenant;eu", "/v1/limits/tenant;", "/v1/limits;x/tenant")) {
      Reply refused = http.delete(path);
      assertThat(refused.status()).as(path).isEqualTo(400);
      assertThat(refused.message()).contains("%3B", path);
    }
    assertThat(http.delete("/v1/limits/tenant%3Beu").status()).isEqualTo(204);
    assertThat(http.delete("/v1/limits/tenant").status()).isEqualTo(204);
  }

  @Test
  void decide_granted_reportsRemaining() {
    // So slow that nothing accrues meanwhile: 3600 tokens in 3,600,000 s.
    limit("slow", "0.001", "3600");
    Reply granted = decide("slow", 600);
    assertThat(granted.status()).isEqualTo(200);
    assertThat(granted.json().toString()).isEqualTo("{\"outcome\":\"GRANTED\",\"remaining\":3000}");
    assertThat(granted.header("RateLimit-Policy")).isEqualTo("\"slow\";q=3600;w=3600000");
    assertThat(granted.header("RateLimit")).matches("\"slow\";r=3000;t=(600000|599[0-9]{3})");
    assertThat(granted.header("Retry-After")).isEmpty();
  }

  @Test
  void decide_denied_reportsTheExactRetryAfter() {
    limit("denied", "0.001", "1");
    decide("denied", 1);
    Reply denied = decide("denied", 1);
    assertThat(denied.status()).isEqualTo(429);
    assertThat(denied.json().get("outcome").asText()).isEqualTo("DENIED");
    assertThat(denied.json().get("limit_name").asText()).isEqualTo("denied");
    long nanos = denied.json().get("retry_after_ns").asLong();
    assertThat(nanos).isBetween(900_000_000_000L, 1_000_000_000_000L);
    assertThat(Long.parseLong(denied.header("Retry-After")))
        .isEqualTo((nanos + 999_999_999) / 1_000_000_000);
    assertThat(denied.header("RateLimit-Policy")).isEqualTo("\"denied\";q=1;w=1000");
    assertThat(denied.header("RateLimit")).startsWith("\"denied\";r=0;t=");
  }

  @Test
  void decide_depletedOrImpossible_hasNoRetryAfter() {
    limit("none", "0", "1");
    decide("none", 1);
    Reply depleted = decide("none", 1);
    assertThat(depleted.status()).isEqualTo(429);
    assertThat(depleted.json().get("outcome").asText()).isEqualTo("DEPLETED");
    assertThat(depleted.header("Retry-After")).isEmpty();
    assertThat(depleted.header("RateLimit-Policy")).isEqualTo("\"none\";q=1");
    assertThat(depleted.header("RateLimit")).isEqualTo("\"none\";r=0");
    Reply impossible = decide("none", 2);
    assertThat(impossible.status()).isEqualTo(429);
    assertThat(impossible.json().toString())
        .isEqualTo("{\"outcome\":\"IMPOSSIBLE\",\"limit_name\":\"none\",\"capacity\":1}");
  }

  @Test
  void decide_takesAllOrNothing() {
    limit("wide", "0", "10");
    limit("narrow", "0", "1");
    Reply refused = http.post("/v1/decide", "{\"costs\":{\"wide\":5,\"narrow\":2}}");
    assertThat(refused.json().get("limit_name").asText()).isEqualTo("narrow");
    assertThat(decide("wide", 10).status()).isEqualTo(200);
  }

  @Test
  void decide_peekTakesNothing() {
    limit("dry", "0", "1");
    String dry = "{\"costs\":{\"dry\":1},\"peek\":true}";
    assertThat(http.post("/v1/decide", dry).status()).isEqualTo(200);
    assertThat(http.post("/v1/decide", dry).status()).isEqualTo(200);
    assertThat(decide("dry", 1).status()).isEqualTo(200);
    assertThat(http.post("/v1/decide", dry).status()).isEqualTo(429);
  }

  @Test
  void seconds_areRoundedUp() {
    assertThat(LimitRoutes.seconds(1)).isEqualTo(1);
    assertThat(LimitRoutes.seconds(1_000_000_000)).isEqualTo(1);
    assertThat(LimitRoutes.seconds(1_000_000_001)).isEqualTo(2);
    assertThat(LimitRoutes.seconds(Long.MAX_VALUE)).isEqualTo(9_223_372_037L);
  }

  @Test
  void fields_haveIntegersThatStructuredFieldsAllow() {
    limit("huge", "1e9", "9007199254740992");
    Reply granted = decide("huge", 1);
    assertThat(granted.status()).isEqualTo(200);
    assertThat(granted.header("RateLimit-Policy"))
        .isEqualTo("\"huge\";q=999999999999999;w=9007200");
    assertThat(granted.header("RateLimit")).matches("\"huge\";r=999999999999999;t=[01]");
  }

  @Test
  void fields_nameEveryKeyQuoted() {
    limit("a%22b%5Cc%2C%3B%3D", "0", "5");
    limit("%C3%BC", "0", "5");
    Reply granted = http.post("/v1/decide", "{\"costs\":{\"a\\\"b\\\\c,;=\":1,\"\u00fc\":2}}");
    assertThat(granted.status()).isEqualTo(200);
    assertThat(granted.header("RateLimit-Policy").split(", "))
        .containsExactlyInAnyOrder("\"a\\\"b\\\\c,;=\";q=5", "\"%C3%BC\";q=5");
    assertThat(granted.header("RateLimit").split(", "))
        .containsExactlyInAnyOrder("\"a\\\"b\\\\c,;=\";r=4", "\"%C3%BC\";r=3");
  }

  @Test
  void quoted_isAStructuredFieldForAnyKey() {
    assertThat(LimitRoutes.quoted("a\"b\\c")).isEqualTo("\"a\\\"b\\\\c\"");
    assertThat(LimitRoutes.quoted("ü\r\n")).isEqualTo("\"%C3%BC%0D%0A\"");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "POST|/v1/decide|{}|400|costs is required",
        "POST|/v1/decide|{\"costs\":{}}|400|costs must name at least one limit",
        "POST|/v1/decide|{\"costs\":{\"unknown\":1}}|404|unknown",
        "POST|/v1/decide|{\"costs\":{\"x\":null}}|400|costs.x",
        "POST|/v1/decide|{\"costs\":{\"x\":\"1\"}}|400|costs.x",
        "POST|/v1/decide|{\"costs\":{\"x\":1,\"x\":1}}|400|x",
        "POST|/v1/decide|{\"costs\":{\"bad\":0}}|400|0",
        "POST|/v1/decide|{\"costs\":{\"bad\":-1}}|400|-1",
        "POST|/v1/decide|{\"costs\":[]}|400|costs must be an object",
        "POST|/v1/decide|{\"costs\":{\"bad\":1},\"dry\":true}|400|dry",
        "GET|/v1/decide||405|POST",
        "PUT|/v1/limits/x|{\"burst\":1}|400|rate_per_second is required",
        "PUT|/v1/limits/x|{\"rate_per_second\":1}|400|burst is required",
        "PUT|/v1/limits/x|{\"rate_per_second\":-1,\"burst\":1}|400|-1",
        "PUT|/v1/limits/x|{\"rate_per_second\":1e999,\"burst\":1}|400|Infinity",
        "PUT|/v1/limits/x|{\"rate_per_second\":\"1\",\"burst\":1}|400|rate_per_second",
        "PUT|/v1/limits/|{\"rate_per_second\":1,\"burst\":1}|400|limit name must have 1 to 256 bytes, but had 0",
        "POST|/v1/limits/x|{}|405|DELETE, GET, PUT",
      })
  void badInput_isRefusedWithAMessage(
      String method, String path, String body, int status, String words) {
    limit("bad", "1", "1");
    Reply refused =
        http.send(
            http.request(path)
                .method(
                    method,
                    java.net.http.HttpRequest.BodyPublishers.ofString(body == null ? "" : body)));
    assertThat(refused.message()).contains(words);
    assertThat(refused.status()).isEqualTo(status);
  }
}
