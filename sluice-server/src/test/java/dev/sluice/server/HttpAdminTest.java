package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.auth.ApiKeyTokens;
import dev.sluice.server.support.BuildVersion;
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

/** Configuration, throttles, keys and what the server is, over HTTP. */
@Timeout(60)
final class HttpAdminTest {
  @TempDir Path dir;
  private KeyedServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
    http = new HttpProbe(server.httpPort());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Reply as(String key, String method, String path, String body) {
    return http.send(
        http.request(path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }

  private Reply call(String method, String path, String body) {
    return as(KeyedServer.BOOTSTRAP, method, path, body);
  }

  private Reply get(String path) {
    return call("GET", path, "");
  }

  @Test
  void config_isSetReadListedAndRemoved() {
    Reply set = call("PUT", "/v1/config/app.limit%2Fa", "{\"value\":\"7\"}");
    assertThat(set.status()).isEqualTo(200);
    assertThat(set.json().get("key").asText()).isEqualTo("app.limit/a");
    call("PUT", "/v1/config/app.b", "{\"value\":\"\"}");
    call("PUT", "/v1/config/other", "{\"value\":\"x\"}");
    assertThat(get("/v1/config/app.limit%2Fa").json().get("value").asText()).isEqualTo("7");
    assertThat(get("/v1/config?prefix=app.").json().get("entries").findValuesAsText("key"))
        .containsExactly("app.b", "app.limit/a");
    assertThat(get("/v1/config").json().get("entries")).hasSize(3);
    assertThat(call("DELETE", "/v1/config/other", "").status()).isEqualTo(204);
    assertThat(get("/v1/config/other").code()).isEqualTo("NOT_FOUND");
    assertThat(call("DELETE", "/v1/config/other", "").code()).isEqualTo("NOT_FOUND");
  }

  @Test
  void throttles_areSetListedAndRemoved() {
    Reply set = call("PUT", "/v1/throttles/mail", "{\"rate_per_second\":0.5,\"burst\":3}");
    assertThat(set.status()).isEqualTo(200);
    JsonNode listed = get("/v1/throttles").json().at("/throttles/0");
    assertThat(listed.get("key").asText()).isEqualTo("mail");
    assertThat(listed.get("rate_per_second").asDouble()).isEqualTo(0.5);
    assertThat(listed.get("level").asDouble()).isEqualTo(3);
    assertThat(call("DELETE", "/v1/throttles/mail", "").status()).isEqualTo(204);
    assertThat(get("/v1/throttles").json().get("throttles")).isEmpty();
    assertThat(call("DELETE", "/v1/throttles/mail", "").code()).isEqualTo("NOT_FOUND");
  }

  @Test
  void info_hasVersionAndStartTime() {
    JsonNode info = get("/v1/info").json();
    assertThat(info.get("version").asText()).isEqualTo(BuildVersion.number());
    assertThat(info.get("started_at_ms").asLong()).isEqualTo(server.nowMs.get());
  }

  @Test
  void keys_areCreatedShownChangedAndRevoked() {
    call("POST", "/v1/queues", "{\"name\":\"q\"}");
    Reply made =
        call(
            "POST",
            "/v1/api-keys",
            "{\"name\":\"p\",\"permissions\":[{\"kind\":\"produce\",\"pattern\":\"q\"}]}");
    assertThat(made.status()).isEqualTo(201);
    String id = made.json().get("id").asText();
    String key = made.json().get("secret").asText();
    String path = "/v1/api-keys/" + id;
    assertThat(as(key, "POST", "/v1/queues/q/messages", "{\"payload\":\"x\"}").status())
        .isEqualTo(200);
    assertThat(as(key, "GET", path, "").status()).isEqualTo(403);
    Reply shown = get(path);
    assertThat(shown.json().at("/permissions/0/kind").asText()).isEqualTo("produce");
    assertThat(shown.response().body()).doesNotContain(key, ApiKeyTokens.hash(key));
    assertThat(get("/v1/api-keys").json().get("api_keys")).hasSize(1);
    assertThat(get("/v1/api-keys").json().at("/api_keys/0")).isEqualTo(shown.json());
    Reply changed =
        call(
            "PUT",
            path + "/permissions",
            "{\"permissions\":[{\"kind\":\"consume\",\"pattern\":\"*\"}]}");
    assertThat(changed.json().at("/permissions/0/kind").asText()).isEqualTo("consume");
    assertThat(as(key, "POST", "/v1/queues/q/messages", "{\"payload\":\"x\"}").status())
        .isEqualTo(403);
    assertThat(call("DELETE", path, "").status()).isEqualTo(204);
    assertThat(as(key, "GET", "/v1/info", "").status()).isEqualTo(401);
    assertThat(call("DELETE", path, "").status()).isEqualTo(404);
    assertThat(get(path).code()).isEqualTo("NOT_FOUND");
  }

  @Test
  void keys_expire() {
    long end = server.nowMs.get() + 1_000;
    String key =
        call(
                "POST",
                "/v1/api-keys",
                "{\"name\":\"k\",\"superadmin\":true,\"expires_at_ms\":%d}".formatted(end))
            .json()
            .get("secret")
            .asText();
    assertThat(as(key, "GET", "/v1/api-keys", "").status()).isEqualTo(200);
    server.nowMs.set(end);
    assertThat(as(key, "GET", "/v1/api-keys", "").status()).isEqualTo(401);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "PUT|/v1/config/k|{\"value\":1}|value must be text",
        "PUT|/v1/config/k|{}|value is required",
        "PUT|/v1/config/k|{\"value\":null}|value is required",
        "PUT|/v1/config/k|{\"value\":\"x\",\"more\":1}|more",
        "PUT|/v1/config/k|{\"value\":\"x\"|JSON",
        "PUT|/v1/config/k||body must be an object",
        "PUT|/v1/config/|{\"value\":\"x\"}|key",
        "PUT|/v1/throttles/k|{\"burst\":1}|rate_per_second is required",
        "PUT|/v1/throttles/k|{\"rate_per_second\":1}|burst is required",
        "PUT|/v1/throttles/k|{\"rate_per_second\":-1,\"burst\":1}|-1",
        "PUT|/v1/throttles/k|{\"rate_per_second\":\"1\",\"burst\":1}|must be a number",
        "POST|/v1/api-keys|{}|name is required",
        "POST|/v1/api-keys|[]|body must be an object",
        "POST|/v1/queues|{\"name\":\"..\"}|queue name must not be . or ..",
        "PUT|/v1/throttles/.|{\"rate_per_second\":1,\"burst\":1}|throttle key must not be . or ..",
        "PUT|/v1/limits/..|{\"rate_per_second\":1,\"burst\":1}|limit name must not be . or ..",
        "PUT|/v1/config/.|{\"value\":\"x\"}|key must not be . or ..",
        "POST|/v1/api-keys|{\"name\":\"\"}|name must have",
        "POST|/v1/api-keys|{\"name\":\"k\",\"expires_at_ms\":1}|expires_at_ms",
        "POST|/v1/api-keys|{\"name\":\"k\",\"expires_at_ms\":1.5}|expires_at_ms",
        "POST|/v1/api-keys|{\"name\":\"k\",\"superadmin\":\"yes\"}|superadmin",
        "POST|/v1/api-keys|{\"name\":\"k\",\"permissions\":[null]}|permissions[0]",
        "POST|/v1/api-keys|{\"name\":\"k\",\"permissions\":[{\"kind\":\"fly\",\"pattern\":\"*\"}]}|fly",
        "POST|/v1/api-keys|{\"name\":\"k\",\"permissions\":[{\"kind\":\"admin\"}]}|permissions[0].pattern",
        "POST|/v1/api-keys|{\"name\":\"k\",\"permissions\":[{\"pattern\":\"*\"}]}|permissions[0].kind",
        "PUT|/v1/api-keys/x/permissions|{}|permissions is required",
      })
  void badInput_namesTheRule(String method, String path, String body, String words) {
    Reply refused = call(method, path, body == null ? "" : body);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.code()).isEqualTo("INVALID_ARGUMENT");
    assertThat(refused.message()).contains(words);
    assertThat(get("/v1/api-keys").json().get("api_keys")).isEmpty();
    assertThat(get("/v1/config").json().get("entries")).isEmpty();
  }

  @Test
  void oversizedFields_areRefused() {
    Reply value = call("PUT", "/v1/config/k", "{\"value\":\"%s\"}".formatted("x".repeat(2 << 20)));
    assertThat(value.status()).isEqualTo(400);
    Reply key = call("PUT", "/v1/config/" + "k".repeat(5_000), "{\"value\":\"x\"}");
    assertThat(key.status()).isEqualTo(400);
  }
}
