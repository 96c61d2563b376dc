package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.fila.AclPermission;
import dev.sluice.server.fila.ApiKeyInfo;
import dev.sluice.server.fila.CreateApiKeyRequest;
import dev.sluice.server.fila.CreateApiKeyResponse;
import dev.sluice.server.fila.CreateQueueRequest;
import dev.sluice.server.fila.EnqueueRequest;
import dev.sluice.server.fila.FilaAdminGrpc;
import dev.sluice.server.fila.FilaServiceGrpc;
import dev.sluice.server.fila.GetAclRequest;
import dev.sluice.server.fila.ListApiKeysRequest;
import dev.sluice.server.fila.RevokeApiKeyRequest;
import dev.sluice.server.fila.SetAclRequest;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Keys as clients of fila make and use them. */
@Timeout(60)
final class FilaKeysTest {
  @TempDir private Path dir;
  private KeyedServer server;

  @BeforeEach
  void start() throws IOException {
    server = new KeyedServer(dir);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private FilaAdminGrpc.FilaAdminBlockingStub admin(String token) {
    return FilaAdminGrpc.newBlockingStub(server.with("Bearer " + token));
  }

  private void enqueue(String token, String queue) {
    FilaServiceGrpc.newBlockingStub(server.with("Bearer " + token))
        .enqueue(EnqueueRequest.newBuilder().setQueue(queue).build());
  }

  private CreateApiKeyResponse create(String name) {
    return admin(KeyedServer.BOOTSTRAP)
        .createApiKey(CreateApiKeyRequest.newBuilder().setName(name).build());
  }

  private void allow(String keyId, String kind, String pattern) {
    admin(KeyedServer.BOOTSTRAP)
        .setAcl(
            SetAclRequest.newBuilder()
                .setKeyId(keyId)
                .addPermissions(AclPermission.newBuilder().setKind(kind).setPattern(pattern))
                .build());
  }

  @Test
  void key_allowsNothing_thenWhatItIsGiven_untilItIsRevoked() {
    admin(KeyedServer.BOOTSTRAP)
        .createQueue(CreateQueueRequest.newBuilder().setName("mail.out").build());
    CreateApiKeyResponse key = create("producer");
    assertThat(key.getIsSuperadmin()).isFalse();
    assertRefused(
        () -> enqueue(key.getKey(), "mail.out"), Status.Code.PERMISSION_DENIED, "produce");
    allow(key.getKeyId(), "produce", "mail.*");
    enqueue(key.getKey(), "mail.out");
    admin(KeyedServer.BOOTSTRAP)
        .revokeApiKey(RevokeApiKeyRequest.newBuilder().setKeyId(key.getKeyId()).build());
    assertRefused(() -> enqueue(key.getKey(), "mail.out"), Status.Code.UNAUTHENTICATED, "key");
  }

  @Test
  void keys_areListed_withoutTheirSecrets_andTheirPermissionsShown() {
    CreateApiKeyResponse key = create("reader");
    allow(key.getKeyId(), "consume", "*");
    var listed = admin(KeyedServer.BOOTSTRAP).listApiKeys(ListApiKeysRequest.getDefaultInstance());
    assertThat(listed.getKeysList()).extracting(ApiKeyInfo::getName).containsExactly("reader");
    assertThat(listed.toString()).doesNotContain(key.getKey());
    var acl =
        admin(KeyedServer.BOOTSTRAP)
            .getAcl(GetAclRequest.newBuilder().setKeyId(key.getKeyId()).build());
    assertThat(acl.getPermissions(0).getKind()).isEqualTo("consume");
    assertThat(acl.getPermissions(0).getPattern()).isEqualTo("*");
  }

  @Test
  void badInput_isRefused() {
    CreateApiKeyResponse key = create("k");
    assertRefused(
        () -> allow(key.getKeyId(), "fly", "*"), Status.Code.INVALID_ARGUMENT, "kind must be");
    assertRefused(() -> allow("none", "produce", "*"), Status.Code.NOT_FOUND, "none");
    assertRefused(() -> create(""), Status.Code.INVALID_ARGUMENT, "name must have");
    assertRefused(
        () -> admin(key.getKey()).listApiKeys(ListApiKeysRequest.getDefaultInstance()),
        Status.Code.PERMISSION_DENIED,
        "admin");
    assertRefused(
        () -> admin("wrong").listApiKeys(ListApiKeysRequest.getDefaultInstance()),
        Status.Code.UNAUTHENTICATED,
        "key");
  }
}
