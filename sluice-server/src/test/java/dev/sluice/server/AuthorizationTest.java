package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static dev.sluice.server.KeyedServer.codeOf;
import static dev.sluice.server.KeyedServer.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.BrowseMessagesRequest;
import dev.sluice.proto.v1.Cost;
import dev.sluice.proto.v1.CreateApiKeyRequest;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.DecideRequest;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetConfigRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.GetServerInfoRequest;
import dev.sluice.proto.v1.Limit;
import dev.sluice.proto.v1.ListApiKeysRequest;
import dev.sluice.proto.v1.ListApiKeysResponse;
import dev.sluice.proto.v1.ListConfigRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.PurgeQueueRequest;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.RemoveConfigRequest;
import dev.sluice.proto.v1.RemoveThrottleRequest;
import dev.sluice.proto.v1.RevokeApiKeyRequest;
import dev.sluice.proto.v1.SetConfigRequest;
import dev.sluice.proto.v1.SetLimitRequest;
import dev.sluice.proto.v1.SetPermissionsRequest;
import dev.sluice.proto.v1.SetThrottleRequest;
import dev.sluice.server.auth.ApiKeyStore;
import dev.sluice.server.auth.ApiKeyTokens;
import io.grpc.Status.Code;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The calls that a valid key allows, and those it does not. */
final class AuthorizationTest {
  private static final List<String> KINDS = List.of("produce", "consume", "limit", "read", "admin");

  @TempDir Path dir;
  private KeyedServer server;

  @BeforeEach
  void start() throws Exception {
    server = new KeyedServer(dir);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void createQueue(String name, QueueConfig config) {
    var created =
        server
            .queues(BOOTSTRAP)
            .createQueue(CreateQueueRequest.newBuilder().setName(name).setConfig(config).build());
    assertThat(created).isNotNull();
  }

  // ---- kinds and patterns

  @Test
  void permission_allowsItsKindForItsNamesOnly() {
    List<String> names = List.of("foo", "foo.bar", "foo.bar.baz", "food", "other");
    names.forEach(this::createQueueAndLimit);
    for (String kind : KINDS) {
      checkMatrix(kind, "foo", Set.of("foo"), names);
      checkMatrix(kind, "foo.*", Set.of("foo.bar", "foo.bar.baz"), names);
      checkMatrix(kind, "*", Set.copyOf(names), names);
    }
  }

  private void createQueueAndLimit(String name) {
    createQueue(name, QueueConfig.getDefaultInstance());
    Limit limit = Limit.newBuilder().setName(name).setRatePerSecond(1).setBurst(1_000).build();
    var set =
        server.limits(BOOTSTRAP).setLimit(SetLimitRequest.newBuilder().setLimit(limit).build());
    assertThat(set).isNotNull();
  }

  private void checkMatrix(String kind, String pattern, Set<String> allowed, List<String> names) {
    String key = server.create(kind + ":" + pattern).getSecret();
    for (String name : names) {
      for (String used : KINDS) {
        boolean included = used.equals("read") && kind.equals("admin");
        boolean may = (used.equals(kind) || included) && allowed.contains(name);
        assertThat(codeOf(() -> use(key, used, name)))
            .as("%s on %s by %s:%s", used, name, kind, pattern)
            .isEqualTo(may ? Code.OK : Code.PERMISSION_DENIED);
      }
    }
  }

  private void use(String key, String kind, String name) {
    Object answer =
        switch (kind) {
          case "produce" ->
              server
                  .queues(key)
                  .enqueue(
                      EnqueueRequest.newBuilder()
                          .setQueue(name)
                          .addMessages(Message.getDefaultInstance())
                          .build());
          case "consume" ->
              server.queues(key).receive(ReceiveRequest.newBuilder().setQueue(name).build());
          case "limit" ->
              server
                  .limits(key)
                  .decide(
                      DecideRequest.newBuilder()
                          .addCosts(Cost.newBuilder().setLimitName(name))
                          .build());
          case "admin" ->
              server.queues(key).purgeQueue(PurgeQueueRequest.newBuilder().setName(name).build());
          default ->
              server.queues(key).getQueue(GetQueueRequest.newBuilder().setName(name).build());
        };
    assertThat(answer).isNotNull();
  }

  @Test
  void permission_forNamesThatBeginWithAColon() {
    List<String> keys = List.of("tenant:a", "tenant:a:b", "tenant", "tenants:a", "tenant.a");
    keys.forEach(
        key -> {
          Limit limit = Limit.newBuilder().setName(key).setRatePerSecond(1).setBurst(1_000).build();
          var set = SetLimitRequest.newBuilder().setLimit(limit).build();
          assertThat(server.limits(BOOTSTRAP).setLimit(set)).isNotNull();
        });
    checkLimits("tenant:*", Set.of("tenant:a", "tenant:a:b"), keys);
    checkLimits("tenant:a:*", Set.of("tenant:a:b"), keys);
    checkLimits("tenant:a", Set.of("tenant:a"), keys);
  }

  private void checkLimits(String pattern, Set<String> allowed, List<String> keys) {
    String caller = server.create("limit:" + pattern).getSecret();
    for (String key : keys) {
      assertThat(codeOf(() -> use(caller, "limit", key)))
          .as("%s by %s", key, pattern)
          .isEqualTo(allowed.contains(key) ? Code.OK : Code.PERMISSION_DENIED);
    }
  }

  @Test
  void configAndThrottles_needAdminOfAll() {
    String some = server.create("admin:foo.*", "produce:*", "consume:*", "limit:*").getSecret();
    String all = server.create("admin:*").getSecret();
    useConfigAndThrottles(some)
        .forEach(call -> assertThat(codeOf(call)).isEqualTo(Code.PERMISSION_DENIED));
    useConfigAndThrottles(all).forEach(call -> assertThat(codeOf(call)).isEqualTo(Code.OK));
  }

  private List<Runnable> useConfigAndThrottles(String key) {
    var admin = server.admin(key);
    return List.of(
        () -> admin.setConfig(SetConfigRequest.newBuilder().setKey("k").build()),
        () -> admin.getConfig(GetConfigRequest.newBuilder().setKey("k").build()),
        () -> admin.listConfig(ListConfigRequest.getDefaultInstance()),
        () -> admin.removeConfig(RemoveConfigRequest.newBuilder().setKey("k").build()),
        () -> admin.setThrottle(SetThrottleRequest.newBuilder().setKey("t").setBurst(1).build()),
        () -> admin.removeThrottle(RemoveThrottleRequest.newBuilder().setKey("t").build()));
  }

  // ---- keys

  @Test
  void keys_needSomeAdmin() {
    String key = server.create("produce:*", "consume:*", "limit:*").getSecret();
    String id = server.create().getId();
    assertThat(codeOf(() -> createBy(key, request()))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> revokeBy(key, id))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> setBy(key, id))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> listBy(key))).isEqualTo(Code.PERMISSION_DENIED);
    var info = GetServerInfoRequest.getDefaultInstance();
    assertThat(codeOf(() -> server.admin(key).getServerInfo(info))).isEqualTo(Code.OK);
  }

  private CreateApiKeyResponse createBy(String key, CreateApiKeyRequest.Builder request) {
    return server.admin(key).createApiKey(request.build());
  }

  private void revokeBy(String key, String id) {
    assertThat(server.admin(key).revokeApiKey(RevokeApiKeyRequest.newBuilder().setId(id).build()))
        .isNotNull();
  }

  private void setBy(String key, String id, String... permissions) {
    SetPermissionsRequest.Builder request = SetPermissionsRequest.newBuilder().setId(id);
    for (String each : permissions) {
      request.addPermissions(KeyedServer.permission(each));
    }
    assertThat(server.admin(key).setPermissions(request.build())).isNotNull();
  }

  private List<String> listBy(String key) {
    return server
        .admin(key)
        .listApiKeys(ListApiKeysRequest.getDefaultInstance())
        .getApiKeysList()
        .stream()
        .map(ListApiKeysResponse.ApiKey::getId)
        .toList();
  }

  @Test
  void grant_neverExceedsThePermissionsOfItsCreator() {
    String key = server.create("admin:foo.*", "limit:foo.bar", "consume:a.b.*").getSecret();
    String target = createBy(key, request("admin:foo.x")).getId();
    for (String more :
        List.of(
            "admin:foo",
            "admin:*",
            "admin:food.*",
            "admin:fo.*",
            "produce:foo",
            "produce:foo:*",
            "produce:*",
            "produce:a.b.c",
            "consume:a.*",
            "consume:a.b",
            "consume:*",
            "read:foo",
            "read:*",
            "limit:foo.x",
            "limit:foo.*",
            "governor:foo.x")) {
      assertThat(codeOf(() -> createBy(key, request("admin:foo.x", more))))
          .as(more)
          .isEqualTo(Code.PERMISSION_DENIED);
      assertThat(codeOf(() -> setBy(key, target, more))).as(more).isEqualTo(Code.PERMISSION_DENIED);
    }
    for (String less :
        List.of(
            "admin:foo.*",
            "admin:foo.x",
            "admin:foo.x.*",
            "read:foo.*",
            "produce:foo.*",
            "produce:foo.bar.*",
            "consume:foo.bar",
            "limit:foo.bar",
            "consume:a.b.c",
            "consume:a.b.*",
            "consume:a.b.c.*")) {
      assertThat(codeOf(() -> createBy(key, request(less)))).as(less).isEqualTo(Code.OK);
      assertThat(codeOf(() -> setBy(key, target, less))).as(less).isEqualTo(Code.OK);
    }
  }

  /** A key sees and revokes the keys that it granted, and no others. */
  @Test
  void adminOfSomeQueues_managesTheirProducersAndConsumers() {
    String key = server.create("admin:foo.*").getSecret();
    CreateApiKeyResponse worker = createBy(key, request("produce:foo.bar", "consume:foo.*"));
    createQueue("foo.bar", QueueConfig.getDefaultInstance());
    use(worker.getSecret(), "produce", "foo.bar");
    assertThat(listBy(key)).contains(worker.getId());
    setBy(key, worker.getId(), "consume:foo.bar");
    assertThat(codeOf(() -> use(worker.getSecret(), "produce", "foo.bar")))
        .isEqualTo(Code.PERMISSION_DENIED);
    for (String more : List.of("limit:foo.bar", "governor:*", "produce:other", "consume:*")) {
      String outside = server.create("consume:foo.bar", more).getId();
      assertThat(listBy(key)).doesNotContain(outside);
      assertThat(codeOf(() -> revokeBy(key, outside))).isEqualTo(Code.PERMISSION_DENIED);
      assertThat(codeOf(() -> setBy(key, outside))).isEqualTo(Code.PERMISSION_DENIED);
    }
    revokeBy(key, worker.getId());
    assertThat(codeOf(() -> use(worker.getSecret(), "consume", "foo.bar")))
        .isEqualTo(Code.UNAUTHENTICATED);
  }

  @Test
  void adminOfAQueue_grantsNothingForItsDeadLettersByName() {
    String key = server.create("admin:jobs").getSecret();
    for (String more : List.of("consume:jobs.dlq", "produce:jobs.*", "admin:jobs.dlq")) {
      assertThat(codeOf(() -> createBy(key, request(more)))).isEqualTo(Code.PERMISSION_DENIED);
    }
    String ofDeadLetters = server.create("admin:jobs.dlq").getSecret();
    assertThat(codeOf(() -> createBy(ofDeadLetters, request("produce:jobs"))))
        .isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> createBy(ofDeadLetters, request("consume:jobs.dlq"))))
        .isEqualTo(Code.OK);
  }

  @Test
  void grant_isLimitedToThePrefixOfAPattern() {
    String key = server.create("admin:x", "limit:tenant:*", "limit:a.b.*").getSecret();
    for (String more :
        List.of("tenant", "tenant.*", "tenants:*", "ten:*", "*", "a.b:*", "a:b.*", "a.*", "a.b")) {
      assertThat(codeOf(() -> createBy(key, request("limit:" + more))))
          .as(more)
          .isEqualTo(Code.PERMISSION_DENIED);
    }
    for (String less :
        List.of("tenant:*", "tenant:a", "tenant:a:*", "tenant:a.*", "a.b.c:*", "a.b.c.*")) {
      assertThat(codeOf(() -> createBy(key, request("limit:" + less)))).as(less).isEqualTo(Code.OK);
    }
  }

  @Test
  void superadmin_onlyBySuperadmin() {
    String all = server.create("admin:*", "produce:*", "consume:*", "limit:*").getSecret();
    assertThat(codeOf(() -> createBy(all, request().setSuperadmin(true))))
        .isEqualTo(Code.PERMISSION_DENIED);
    CreateApiKeyResponse superadmin = createBy(BOOTSTRAP, request().setSuperadmin(true));
    assertThat(codeOf(() -> revokeBy(all, superadmin.getId()))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> setBy(all, superadmin.getId()))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(listBy(all)).doesNotContain(superadmin.getId());
    CreateApiKeyResponse second = createBy(superadmin.getSecret(), request().setSuperadmin(true));
    revokeBy(second.getSecret(), superadmin.getId());
    assertThat(codeOf(() -> listBy(superadmin.getSecret()))).isEqualTo(Code.UNAUTHENTICATED);
  }

  @Test
  void keysWithFurtherPermissions_cannotBeManaged() {
    String key = server.create("admin:foo.*").getSecret();
    String inside = server.create("admin:foo.x").getId();
    String outside = server.create("admin:foo.x", "produce:bar").getId();
    assertThat(listBy(key)).contains(inside).doesNotContain(outside);
    assertThat(codeOf(() -> revokeBy(key, outside))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> setBy(key, outside))).isEqualTo(Code.PERMISSION_DENIED);
    assertThat(codeOf(() -> revokeBy(key, inside))).isEqualTo(Code.OK);
    assertThat(listBy(BOOTSTRAP)).contains(outside).doesNotContain(inside);
  }

  @Test
  void setPermissions_appliesFromTheNextCall() {
    CreateApiKeyResponse key = server.create("admin:*");
    setBy(key.getSecret(), key.getId(), "admin:foo.*");
    assertThat(codeOf(() -> setBy(key.getSecret(), key.getId(), "admin:*")))
        .isEqualTo(Code.PERMISSION_DENIED);
    setBy(BOOTSTRAP, key.getId());
    assertThat(codeOf(() -> listBy(key.getSecret()))).isEqualTo(Code.PERMISSION_DENIED);
  }

  @Test
  void badInput_isRefused() {
    long now = server.nowMs.get();
    assertThat(codeOf(() -> revokeBy(BOOTSTRAP, "no-such-id"))).isEqualTo(Code.NOT_FOUND);
    assertThat(codeOf(() -> revokeBy(BOOTSTRAP, "x".repeat(100_000)))).isEqualTo(Code.NOT_FOUND);
    assertThat(codeOf(() -> setBy(BOOTSTRAP, ""))).isEqualTo(Code.NOT_FOUND);
    for (CreateApiKeyRequest.Builder bad :
        List.of(
            request().setName(""),
            request().setName("x".repeat(257)),
            request().setName("two\nlines"),
            request().setExpiresAtMs(-1),
            request().setExpiresAtMs(Long.MIN_VALUE),
            request().setExpiresAtMs(now),
            request("look:*"),
            request("PRODUCE:*"),
            request("produce:"),
            request("produce:a*"),
            request("produce:*.a"),
            request("limit::*"),
            request("limit:.*"),
            request("limit:a:*:*"),
            request("limit:a:*b"),
            request("produce:" + "x".repeat(100_000)),
            request("produce:*")
                .addAllPermissions(Collections.nCopies(64, KeyedServer.permission("produce:*"))))) {
      assertThat(codeOf(() -> createBy(BOOTSTRAP, bad))).isEqualTo(Code.INVALID_ARGUMENT);
    }
    assertThat(listBy(BOOTSTRAP)).isEmpty();
    assertThat(createBy(BOOTSTRAP, request().setName("x".repeat(256))).getSecret()).hasSize(64);
  }

  // ---- tricks

  @Test
  void configuration_neitherMakesNorShowsKeys() throws Exception {
    CreateApiKeyResponse key = server.create("admin:*");
    String stored = Files.readString(dir.resolve(ApiKeyStore.FILE));
    assertThat(stored).contains(key.getId()).doesNotContain(key.getSecret(), BOOTSTRAP);
    String forged = "f".repeat(64);
    String record =
        stored
            .replace(ApiKeyTokens.hash(key.getSecret()), ApiKeyTokens.hash(forged))
            .replace("false", "true");
    for (String name :
        List.of("auth:key:" + key.getId(), ApiKeyStore.FILE, "keys", ApiKeyTokens.hash(forged))) {
      var set =
          server
              .admin(key.getSecret())
              .setConfig(SetConfigRequest.newBuilder().setKey(name).setValue(record).build());
      assertThat(set).isNotNull();
      var removed =
          server
              .admin(key.getSecret())
              .removeConfig(RemoveConfigRequest.newBuilder().setKey(name).build());
      assertThat(removed).isNotNull();
    }
    assertThat(codeOf(() -> listBy(forged))).isEqualTo(Code.UNAUTHENTICATED);
    assertThat(listBy(key.getSecret())).containsExactly(key.getId());
    var config = server.admin(BOOTSTRAP).listConfig(ListConfigRequest.getDefaultInstance());
    assertThat(config.toString()).doesNotContain(key.getId(), ApiKeyTokens.hash(key.getSecret()));
  }

  @Test
  void scripts_doNotSeeKeys() {
    String id = server.create("admin:*").getId();
    String script =
        """
        function on_enqueue(msg)
          return { fairness_key = sluice.get("auth:key:%s") or sluice.get("keys.json")
            or sluice.get("%s") or "nothing" }
        end
        """
            .formatted(id, id);
    createQueue("q", QueueConfig.newBuilder().setOnEnqueue(script).build());
    use(BOOTSTRAP, "produce", "q");
    var messages =
        server
            .queues(BOOTSTRAP)
            .browseMessages(BrowseMessagesRequest.newBuilder().setQueue("q").build());
    assertThat(messages.getMessages(0).getFairnessKey()).isEqualTo("nothing");
  }
}
