package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static dev.sluice.server.KeyedServer.request;
import static dev.sluice.server.KeyedServer.statusOf;
import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.SetPermissionsRequest;
import dev.sluice.server.HttpProbe.Reply;
import dev.sluice.server.auth.ApiKey;
import dev.sluice.server.fila.v1.AclPermission;
import dev.sluice.server.fila.v1.CreateApiKeyRequest;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.SetAclRequest;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls and streams end with their API key, in every protocol. */
final class KeyExpiryTest {
  private static final long LIFE_MS = 5_000;

  @TempDir Path dir;
  private KeyedServer server;
  private long endsAtMs;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
    endsAtMs = server.nowMs.get() + LIFE_MS;
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private CreateApiKeyResponse createBy(
      String key, dev.sluice.proto.v1.CreateApiKeyRequest.Builder request) {
    return server.admin(key).createApiKey(request.build());
  }

  private String ending(String... permissions) {
    return createBy(BOOTSTRAP, request(permissions).setExpiresAtMs(endsAtMs)).getSecret();
  }

  private Status setBy(String key, String id, String... permissions) {
    SetPermissionsRequest.Builder request = SetPermissionsRequest.newBuilder().setId(id);
    List.of(permissions).forEach(each -> request.addPermissions(KeyedServer.permission(each)));
    return statusOf(
        () -> assertThat(server.admin(key).setPermissions(request.build())).isNotNull());
  }

  @Test
  void create_noLongerThanTheCreator() {
    String key = ending("admin:mail");
    for (long later : List.of(ApiKey.NEVER, endsAtMs + 1, Long.MAX_VALUE)) {
      Status refused = statusOf(() -> createBy(key, request("admin:mail").setExpiresAtMs(later)));
      assertThat(refused.getCode()).as("%d", later).isEqualTo(Code.PERMISSION_DENIED);
      assertThat(refused.getDescription())
          .contains(
              "at most " + endsAtMs, later == ApiKey.NEVER ? "0 (never)" : "but was " + later);
    }
    for (long inTime : List.of(endsAtMs, endsAtMs - 1)) {
      CreateApiKeyResponse made = createBy(key, request("admin:mail").setExpiresAtMs(inTime));
      Status second =
          statusOf(() -> createBy(made.getSecret(), request().setExpiresAtMs(inTime + 1)));
      assertThat(second.getCode()).isEqualTo(Code.PERMISSION_DENIED);
    }
  }

  @Test
  void create_byAnExpiringSuperadmin_noLongerEither() {
    String key =
        createBy(BOOTSTRAP, request().setSuperadmin(true).setExpiresAtMs(endsAtMs)).getSecret();
    for (boolean superadmin : List.of(true, false)) {
      assertThat(statusOf(() -> createBy(key, request().setSuperadmin(superadmin))).getCode())
          .isEqualTo(Code.PERMISSION_DENIED);
    }
    String forever = createBy(BOOTSTRAP, request().setSuperadmin(true)).getSecret();
    assertThat(createBy(forever, request()).getSecret()).isNotEmpty();
  }

  @Test
  void setPermissions_addsNothingToAKeyThatOutlivesTheCaller() {
    String key = ending("admin:mail.*", "produce:mail.*");
    String staying = server.create("produce:mail.*").getId();
    Status refused = setBy(key, staying, "produce:mail.*", "admin:mail.*");
    assertThat(refused.getCode()).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(refused.getDescription()).contains("at most " + endsAtMs, "0 (never)");
    assertThat(setBy(key, staying, "produce:mail.a").isOk()).as("less").isTrue();
    assertThat(setBy(key, staying, "produce:mail.*").isOk()).as("more again").isFalse();
    String endingToo = createBy(key, request().setExpiresAtMs(endsAtMs)).getId();
    assertThat(setBy(key, endingToo, "admin:mail.*").isOk()).isTrue();
  }

  @Test
  void http_noLongerThanTheCreator() {
    String key = ending("admin:mail");
    for (String expiry :
        List.of("", ",\"expires_at_ms\":0", ",\"expires_at_ms\":" + (endsAtMs + 1))) {
      Reply refused = post(key, expiry);
      assertThat(refused.status()).as(expiry).isEqualTo(403);
      assertThat(refused.response().body()).contains("at most " + endsAtMs);
    }
    assertThat(post(key, ",\"expires_at_ms\":" + endsAtMs).status()).isEqualTo(201);
  }

  private Reply post(String key, String expiry) {
    HttpProbe http = new HttpProbe(server.httpPort());
    return http.send(
        http.request("/v1/api-keys")
            .header("Authorization", "Bearer " + key)
            .POST(BodyPublishers.ofString("{\"name\":\"n\"" + expiry + "}")));
  }

  @Test
  void fila_noLongerThanTheCreator() {
    var admin = FilaAdminGrpc.newBlockingStub(server.with("Bearer " + ending("admin:*")));
    CreateApiKeyRequest.Builder request =
        CreateApiKeyRequest.newBuilder().setName(UUID.randomUUID().toString());
    for (long later : List.of(ApiKey.NEVER, endsAtMs + 1)) {
      assertRefused(
          () -> admin.createApiKey(request.setExpiresAtMs(later).build()),
          Code.PERMISSION_DENIED,
          "at most " + endsAtMs);
    }
    String made = admin.createApiKey(request.setExpiresAtMs(endsAtMs).build()).getKeyId();
    SetAclRequest.Builder all =
        SetAclRequest.newBuilder()
            .addPermissions(AclPermission.newBuilder().setKind("admin").setPattern("*"));
    assertThat(admin.setAcl(all.setKeyId(made).build())).isNotNull();
    String staying = server.create().getId();
    assertRefused(
        () -> admin.setAcl(all.setKeyId(staying).build()), Code.PERMISSION_DENIED, "0 (never)");
  }
}
