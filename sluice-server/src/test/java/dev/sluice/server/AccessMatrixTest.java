package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.server.AccessCalls.Got;
import dev.sluice.server.AccessTable.Row;
import dev.sluice.server.auth.ApiKeyTokens;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every route and RPC by every sort of key. */
@Tag("any-jdk")
@Timeout(240)
final class AccessMatrixTest {
  @TempDir Path dir;
  private KeyedServer server;
  private HttpProbe http;
  private AccessCalls calls;
  private final Map<List<String>, String> keys = new HashMap<>();

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
    http = new HttpProbe(server.httpPort());
    calls = new AccessCalls(server, http);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void table_hasEveryRouteAndRpc() {
    Set<String> there = new TreeSet<>(AccessCalls.METHODS.keySet());
    server.httpRoutes().forEach(route -> there.add(route.method() + " " + route.template()));
    assertThat(AccessTable.rows()).extracting(Row::name).containsExactlyInAnyOrderElementsOf(there);
  }

  @Test
  void everyCall_requiresAValidKeyWithItsPermission() throws Exception {
    CreateApiKeyResponse revoked =
        server.create("admin:*", "produce:*", "consume:*", "limit:*", "governor:*", "read:*");
    server.revoke(revoked.getId());
    String superadmin = superadmin(0);
    String expired = superadmin(server.nowMs.get() + 1);
    server.nowMs.incrementAndGet();
    for (Row row : AccessTable.rows()) {
      Got without = row.needed().equals(AccessTable.OPEN) ? Got.THROUGH : Got.UNAUTHENTICATED;
      require(row, null, without, "no key");
      require(row, "Bearer " + "f".repeat(64), without, "wrong key");
      for (String malformed :
          List.of("Bearer", "Bearer ", superadmin, "Basic " + superadmin, "Bearer" + superadmin)) {
        require(row, malformed, without, "malformed");
      }
      require(row, "Bearer " + expired, without, "expired");
      require(row, "Bearer " + revoked.getSecret(), without, "revoked");
      boolean anyWill =
          row.needed().equals(AccessTable.OPEN) || row.needed().equals(AccessTable.ANY);
      for (List<String> tooLittle : row.tooLittle()) {
        require(row, key(tooLittle), anyWill ? Got.THROUGH : Got.DENIED, tooLittle.toString());
      }
      for (List<String> enough : row.enough()) {
        require(row, key(enough), Got.THROUGH, enough.toString());
      }
      require(row, "Bearer " + superadmin, Got.THROUGH, "superadmin");
      require(row, "Bearer " + BOOTSTRAP, Got.THROUGH, "bootstrap");
    }
  }

  private String superadmin(long expiresAtMs) {
    return server
        .admin(BOOTSTRAP)
        .createApiKey(KeyedServer.request().setSuperadmin(true).setExpiresAtMs(expiresAtMs).build())
        .getSecret();
  }

  private String key(List<String> permissions) {
    return "Bearer "
        + keys.computeIfAbsent(
            permissions, each -> server.create(each.toArray(String[]::new)).getSecret());
  }

  private void require(Row row, @Nullable String authorization, Got expected, String sort)
      throws Exception {
    String call =
        row.name()
            .replace("{queue}", "q")
            .replace("{key}", "k")
            .replace("{name}", "k")
            .replace("{model}", "m")
            .replace("{file}", "app.js")
            .replace("{id}", "x");
    assertThat(calls.make(call, row.request(), authorization))
        .as("%s with %s", row.name(), sort)
        .isEqualTo(expected);
  }

  @Test
  void deadLetterQueuesReadAndThrottleKeys_onEveryWire() throws Exception {
    var queues = server.queues(BOOTSTRAP);
    for (AccessScenarios.Scenario each : AccessScenarios.all()) {
      for (String queue : each.queues()) {
        assertThat(queues.createQueue(CreateQueueRequest.newBuilder().setName(queue).build()))
            .isNotNull();
      }
      Got got = calls.make(each.call(), each.request(), key(each.allows()));
      assertThat(got).as(each.toString()).isEqualTo(each.allowed() ? Got.THROUGH : Got.DENIED);
    }
  }

  @Test
  void throttleKeysThroughHooks_onEveryWire() throws Exception {
    List<AccessScenarios.Scenario> all = AccessScenarios.hooks();
    for (int i = 0; i < all.size(); i++) {
      AccessScenarios.Scenario each = all.get(i);
      String queue = "h" + i;
      for (String before : each.queues()) {
        var create = CreateQueueRequest.newBuilder().setName(before).build();
        assertThat(server.queues(BOOTSTRAP).createQueue(create)).isNotNull();
      }
      assertThat(calls.make(each.call(), each.request(), key(each.allows())))
          .as(each.toString())
          .isEqualTo(Got.THROUGH);
      // A producer needs no permission for the keys of a hook.
      String producer = key(List.of("produce:*"));
      for (String call : AccessScenarios.PRODUCING.keySet()) {
        String request = AccessScenarios.PRODUCING.get(call).replace("$", queue);
        assertThat(calls.make(call.replace("$", queue), request, producer)).isEqualTo(Got.THROUGH);
      }
      var messages = as(BOOTSTRAP, "GET", "/v1/queues/" + queue + "/browse", "").json();
      assertThat(messages.get("messages"))
          .as(each.toString())
          .hasSize(AccessScenarios.PRODUCING.size())
          .allSatisfy(
              message ->
                  assertThat(message.get("throttle_keys").toString())
                      .isEqualTo(each.allowed() ? "[\"t\"]" : "[]"));
    }
  }

  // ---- tricks

  private HttpProbe.Reply as(String key, String method, String path, String body) {
    return http.send(
        http.request(path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }

  @Test
  void configurationOverHttpAndFila_neitherMakesNorShowsKeys() {
    CreateApiKeyResponse key = server.create("admin:*");
    String forged = "f".repeat(64);
    String hash = ApiKeyTokens.hash(forged);
    var fila = FilaAdminGrpc.newBlockingStub(server.with("Bearer " + key.getSecret()));
    for (String name : List.of("auth:key:" + key.getId(), "auth:key:" + hash, "keys.json", hash)) {
      String path = "/v1/config/" + name;
      assertThat(as(key.getSecret(), "GET", path, "").status()).as(name).isEqualTo(404);
      String value = "{\"value\":\"{\\\"superadmin\\\":true,\\\"tokenHash\\\":\\\"%s\\\"}\"}";
      assertThat(as(key.getSecret(), "PUT", path, value.formatted(hash)).status()).isEqualTo(200);
      fila.setConfig(
          dev.sluice.server.fila.v1.SetConfigRequest.newBuilder()
              .setKey(name)
              .setValue(hash)
              .build());
      assertThat(as(forged, "GET", "/v1/info", "").status()).isEqualTo(401);
      assertThat(as(key.getSecret(), "DELETE", path, "").status()).isEqualTo(204);
    }
    assertThat(as(key.getSecret(), "GET", "/v1/info", "").status()).isEqualTo(200);
    assertThat(as(BOOTSTRAP, "GET", "/v1/api-keys", "").json().get("api_keys")).hasSize(1);
    String shown =
        as(BOOTSTRAP, "GET", "/v1/config", "").response().body()
            + as(BOOTSTRAP, "GET", "/v1/api-keys", "").response().body();
    assertThat(shown).doesNotContain(key.getSecret(), ApiKeyTokens.hash(key.getSecret()));
  }

  // ---- events

  private BufferedReader listen(String key) throws Exception {
    HttpResponse<InputStream> events =
        http.client()
            .send(
                http.request("/v1/events").header("Authorization", "Bearer " + key).build(),
                BodyHandlers.ofInputStream());
    assertThat(events.statusCode()).isEqualTo(200);
    return new BufferedReader(new InputStreamReader(events.body(), StandardCharsets.UTF_8));
  }

  private static void requireEnd(BufferedReader events) {
    CompletableFuture<Boolean> end =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                while (events.readLine() != null) {
                  // Until there is no more.
                }
              } catch (IOException cut) {
                return true;
              }
              return true;
            });
    assertThat(end.orTimeout(10, TimeUnit.SECONDS).join()).isTrue();
  }

  @Test
  void events_endWhenTheirKeyIsRevokedChangedOrExpires() throws Exception {
    CreateApiKeyResponse revoked = server.create("admin:q");
    CreateApiKeyResponse changed = server.create("admin:q");
    String expiring = superadmin(server.nowMs.get() + 1);
    String kept = server.create("admin:q").getSecret();
    List<BufferedReader> ending =
        List.of(listen(revoked.getSecret()), listen(changed.getSecret()), listen(expiring));
    BufferedReader lasting = listen(kept);
    for (BufferedReader each : ending) {
      assertThat(each.readLine()).isEqualTo("event:queues");
    }
    server.revoke(revoked.getId());
    String path = "/v1/api-keys/%s/permissions".formatted(changed.getId());
    assertThat(as(BOOTSTRAP, "PUT", path, "{\"permissions\":[]}").status()).isEqualTo(200);
    server.nowMs.incrementAndGet();
    ending.forEach(AccessMatrixTest::requireEnd);
    for (int events = 0; events < 3; events++) {
      assertThat(lasting.readLine()).isEqualTo("event:queues");
      assertThat(lasting.readLine()).startsWith("data:");
      assertThat(lasting.readLine()).isEmpty();
    }
    lasting.close();
  }
}
