package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.server.fila.v1.AclPermission;
import dev.sluice.server.fila.v1.ApiKeyInfo;
import dev.sluice.server.fila.v1.CreateApiKeyRequest;
import dev.sluice.server.fila.v1.CreateApiKeyResponse;
import dev.sluice.server.fila.v1.CreateQueueRequest;
import dev.sluice.server.fila.v1.EnqueueRequest;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import dev.sluice.server.fila.v1.GetAclRequest;
import dev.sluice.server.fila.v1.ListApiKeysRequest;
import dev.sluice.server.fila.v1.RedriveRequest;
import dev.sluice.server.fila.v1.RevokeApiKeyRequest;
import dev.sluice.server.fila.v1.SetAclRequest;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
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
    return createBy(KeyedServer.BOOTSTRAP, name);
  }

  private CreateApiKeyResponse createBy(String token, String name) {
    return admin(token).createApiKey(CreateApiKeyRequest.newBuilder().setName(name).build());
  }

  private void allow(String keyId, String kind, String pattern) {
    grant(KeyedServer.BOOTSTRAP, keyId, kind + ":" + pattern);
  }

  /** By the key of that token; permissions are written {@code kind:pattern}. */
  private void grant(String token, String keyId, String... permissions) {
    SetAclRequest.Builder request = SetAclRequest.newBuilder().setKeyId(keyId);
    for (String each : permissions) {
      int colon = each.indexOf(':');
      request.addPermissions(
          AclPermission.newBuilder()
              .setKind(each.substring(0, colon))
              .setPattern(each.substring(colon + 1)));
    }
    assertThat(admin(token).setAcl(request.build())).isNotNull();
  }

  private List<String> permissionsOf(String keyId) {
    return admin(KeyedServer.BOOTSTRAP)
        .getAcl(GetAclRequest.newBuilder().setKeyId(keyId).build())
        .getPermissionsList()
        .stream()
        .map(each -> each.getKind() + ":" + each.getPattern())
        .toList();
  }

  private void createQueue(String token, String name) {
    var created = admin(token).createQueue(CreateQueueRequest.newBuilder().setName(name).build());
    assertThat(created.getQueueId()).isEqualTo(name);
  }

  /** A key that is allowed {@code permission} alone. */
  private CreateApiKeyResponse keyWith(String permission) {
    CreateApiKeyResponse key = create(permission);
    grant(KeyedServer.BOOTSTRAP, key.getKeyId(), permission);
    return key;
  }

  @Test
  void key_allowsItsPermissionsOnly_untilItIsRevoked() {
    admin(KeyedServer.BOOTSTRAP)
        .createQueue(CreateQueueRequest.newBuilder().setName("mail.out").build());
    CreateApiKeyResponse key = create("producer");
    assertThat(key.getIsSuperadmin()).isFalse();
    assertThat(key.getKey()).matches("[0-9a-f]{64}");
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

  // ---- an admin of some queues

  @Test
  void adminOfSomeQueues_grantsTheirKindsToKeysThatItMakes() {
    String admin = keyWith("admin:orders.*").getKey();
    createQueue(admin, "orders.eu");
    CreateApiKeyResponse worker =
        admin(admin).createApiKey(CreateApiKeyRequest.newBuilder().setName("worker").build());
    assertRefused(
        () -> enqueue(worker.getKey(), "orders.eu"), Status.Code.PERMISSION_DENIED, "produce");
    grant(admin, worker.getKeyId(), "produce:orders.eu", "consume:orders.*", "admin:orders.eu.*");
    enqueue(worker.getKey(), "orders.eu");
    createQueue(worker.getKey(), "orders.eu.west");
    grant(admin, worker.getKeyId(), "consume:orders.eu");
    assertThat(permissionsOf(worker.getKeyId())).containsExactly("consume:orders.eu");
    assertRefused(
        () -> enqueue(worker.getKey(), "orders.eu"), Status.Code.PERMISSION_DENIED, "produce");
  }

  @Test
  void adminOfSomeQueues_grantsNothingBeyondThem() {
    String admin = keyWith("admin:orders.*").getKey();
    String target = keyWith("produce:orders.eu").getKeyId();
    for (String kind : List.of("produce", "consume", "admin", "read")) {
      for (String pattern :
          List.of("*", "orders", "orders:*", "order.*", "ordersx.*", "orders-eu", "billing")) {
        assertDenied(() -> grant(admin, target, "consume:orders.x", kind + ":" + pattern));
      }
    }
    for (String other : List.of("limit:orders.eu", "limit:orders.*", "governor:orders.eu")) {
      assertDenied(() -> grant(admin, target, other));
    }
    assertThat(permissionsOf(target)).containsExactly("produce:orders.eu");
  }

  private static void assertDenied(Runnable call) {
    assertRefused(call::run, Status.Code.PERMISSION_DENIED, "the API key does not allow this");
  }

  @Test
  void adminOfAQueue_grantsNothingForItsDeadLettersByName_norForTheQueueByItsDeadLetters() {
    createQueue(KeyedServer.BOOTSTRAP, "jobs");
    CreateApiKeyResponse admin = keyWith("admin:jobs");
    // A key without permissions can be given some by its own account alone.
    String foreign = create("foreign").getKeyId();
    assertDenied(() -> grant(admin.getKey(), foreign, "consume:jobs"));
    String target = createBy(admin.getKey(), "target").getKeyId();
    for (String pattern : List.of("jobs.dlq", "jobs.*", "jobs.dlq.*", "*")) {
      assertDenied(() -> grant(admin.getKey(), target, "consume:" + pattern));
    }
    grant(admin.getKey(), target, "consume:jobs", "produce:jobs");
    CreateApiKeyResponse ofDeadLetters = keyWith("admin:jobs.dlq");
    String self = ofDeadLetters.getKeyId();
    assertDenied(() -> grant(ofDeadLetters.getKey(), self, "produce:jobs"));
    grant(ofDeadLetters.getKey(), self, "admin:jobs.dlq", "produce:jobs.dlq");
    enqueue(ofDeadLetters.getKey(), "jobs.dlq");
    RedriveRequest all = RedriveRequest.newBuilder().setDlqQueue("jobs.dlq").build();
    assertRefused(
        () -> admin(ofDeadLetters.getKey()).redrive(all),
        Status.Code.PERMISSION_DENIED,
        "produce on jobs");
  }

  @Test
  void adminOfSomeQueues_cannotChangeKeysWithMorePermissions() {
    CreateApiKeyResponse admin = keyWith("admin:orders.*");
    String outside = keyWith("produce:billing").getKeyId();
    assertDenied(() -> grant(admin.getKey(), outside, "produce:orders.eu"));
    assertDenied(() -> grant(admin.getKey(), outside));
    assertThat(permissionsOf(outside)).containsExactly("produce:billing");
    assertDenied(() -> grant(admin.getKey(), admin.getKeyId(), "admin:*"));
    assertThat(permissionsOf(admin.getKeyId())).containsExactly("admin:orders.*");
  }

  @Test
  void superadminKey_cannotBeManagedByAdmins() {
    CreateApiKeyRequest request =
        CreateApiKeyRequest.newBuilder().setName("root").setIsSuperadmin(true).build();
    CreateApiKeyResponse root = admin(KeyedServer.BOOTSTRAP).createApiKey(request);
    RevokeApiKeyRequest revoke = RevokeApiKeyRequest.newBuilder().setKeyId(root.getKeyId()).build();
    for (String permission : List.of("admin:orders.*", "admin:*")) {
      String admin = keyWith(permission).getKey();
      assertDenied(() -> grant(admin, root.getKeyId(), "produce:orders.eu"));
      assertDenied(() -> grant(admin, root.getKeyId()));
      assertDenied(() -> admin(admin).revokeApiKey(revoke));
      assertDenied(() -> admin(admin).createApiKey(request));
    }
    createQueue(root.getKey(), "still.there");
  }

  @Test
  void keyWithoutAdmin_grantsNothing() {
    String producer = keyWith("produce:orders.*").getKey();
    String target = create("target").getKeyId();
    assertDenied(() -> grant(producer, target, "produce:orders.eu"));
    assertThat(permissionsOf(target)).isEmpty();
  }
}
