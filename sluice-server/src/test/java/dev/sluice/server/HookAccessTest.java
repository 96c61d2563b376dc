package dev.sluice.server;

import static dev.sluice.server.KeyedServer.BOOTSTRAP;
import static dev.sluice.server.KeyedServer.statusOf;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.FieldMask;
import dev.sluice.proto.v1.CreateApiKeyResponse;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.RedriveRequest;
import dev.sluice.proto.v1.SetConfigRequest;
import dev.sluice.proto.v1.SetPermissionsRequest;
import dev.sluice.proto.v1.SetThrottleRequest;
import dev.sluice.proto.v1.Settlement;
import dev.sluice.proto.v1.UpdateQueueRequest;
import dev.sluice.server.fila.v1.FilaAdminGrpc;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import io.grpc.Status.Code;
import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A hook names only the throttle keys for which the key that set the hook had {@code limit}. */
@Timeout(120)
final class HookAccessTest {
  private static final String HOOK =
      "function on_enqueue(m) return { fairness_key = 'f', throttle_keys = { 'shared.provider' } } end";
  private static final String OTHER_HOOK = HOOK + " -- other";
  private static final String[] TENANT = {"admin:a.*", "produce:a.*", "consume:a.*"};

  @TempDir private Path dir;
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

  private void restart() throws IOException {
    server.close();
    start();
  }

  /** Every call that sets a hook. */
  private enum Way {
    GRPC_CREATE,
    HTTP_CREATE,
    FILA_CREATE,
    GRPC_REPLACE,
    GRPC_MASK,
    GRPC_REVISION,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_IF_MATCH;

    boolean creates() {
      return name().endsWith("CREATE");
    }
  }

  private String tenant(String... more) {
    return key(more).getSecret();
  }

  private CreateApiKeyResponse key(String... more) {
    List<String> all = new ArrayList<>(List.of(TENANT));
    all.addAll(List.of(more));
    return server.create(all.toArray(String[]::new));
  }

  private HttpProbe.Reply ask(String key, String method, String path, String body) {
    return http.send(
        http.request(path)
            .header("Authorization", "Bearer " + key)
            .method(method, BodyPublishers.ofString(body)));
  }

  private JsonNode queue(String name) {
    return ask(BOOTSTRAP, "GET", "/v1/queues/" + name, "").json();
  }

  private List<String> patterns(String queue) {
    List<String> patterns = new ArrayList<>();
    queue(queue).get("hook_throttle_keys").forEach(each -> patterns.add(each.asText()));
    return patterns;
  }

  /** Creates the queue with the hook, or creates it without and then sets the hook. */
  private void set(Way way, String key, String queue, String hook) {
    if (!way.creates()) {
      create(key, queue, "");
    }
    change(way, key, queue, hook);
  }

  private void create(String key, String queue, String hook) {
    change(Way.GRPC_CREATE, key, queue, hook);
  }

  private void change(Way way, String key, String queue, String hook) {
    QueueConfig config = QueueConfig.newBuilder().setOnEnqueue(hook).build();
    UpdateQueueRequest.Builder update =
        UpdateQueueRequest.newBuilder().setName(queue).setConfig(config);
    FieldMask onEnqueue = FieldMask.newBuilder().addPaths("on_enqueue").build();
    String path = "/v1/queues/" + queue;
    String json = "{\"on_enqueue\":\"%s\"}".formatted(hook);
    Object done =
        switch (way) {
          case GRPC_CREATE ->
              server
                  .queues(key)
                  .createQueue(
                      CreateQueueRequest.newBuilder().setName(queue).setConfig(config).build());
          case FILA_CREATE ->
              FilaAdminGrpc.newBlockingStub(server.with("Bearer " + key))
                  .createQueue(
                      dev.sluice.server.fila.v1.CreateQueueRequest.newBuilder()
                          .setName(queue)
                          .setConfig(
                              dev.sluice.server.fila.v1.QueueConfig.newBuilder()
                                  .setOnEnqueueScript(hook))
                          .build());
          case GRPC_REPLACE -> server.queues(key).updateQueue(update.build());
          case GRPC_MASK -> server.queues(key).updateQueue(update.setUpdateMask(onEnqueue).build());
          case GRPC_REVISION ->
              server
                  .queues(key)
                  .updateQueue(update.setRevision(queue(queue).get("revision").asText()).build());
          case HTTP_CREATE ->
              ok(
                  ask(
                      key,
                      "POST",
                      "/v1/queues",
                      "{\"name\":\"%s\",\"config\":%s}".formatted(queue, json)));
          case HTTP_PUT -> ok(ask(key, "PUT", path, json));
          case HTTP_PATCH -> ok(ask(key, "PATCH", path, json));
          case HTTP_IF_MATCH -> ok(patchIfMatch(key, queue, json));
        };
    assertThat(done).isNotNull();
  }

  private HttpProbe.Reply patchIfMatch(String key, String queue, String json) {
    return http.send(
        http.request("/v1/queues/" + queue)
            .header("Authorization", "Bearer " + key)
            .header("If-Match", "\"" + queue(queue).get("revision").asText() + "\"")
            .method("PATCH", BodyPublishers.ofString(json)));
  }

  private static JsonNode ok(HttpProbe.Reply reply) {
    assertThat(reply.status()).as(reply.response().body()).isBetween(200, 299);
    return reply.json();
  }

  /** One token of the shared limit in all. */
  private void oneToken() {
    var set =
        server
            .admin(BOOTSTRAP)
            .setThrottle(
                SetThrottleRequest.newBuilder().setKey("shared.provider").setBurst(1).build());
    assertThat(set).isNotNull();
  }

  /** One message on every wire. */
  private void produce(String key, String queue) {
    ok(ask(key, "POST", "/v1/queues/" + queue + "/messages", "{\"payload\":\"x\"}"));
    assertThat(
            server
                .queues(key)
                .enqueue(
                    EnqueueRequest.newBuilder()
                        .setQueue(queue)
                        .addMessages(Message.getDefaultInstance())
                        .build())
                .getIdsCount())
        .isEqualTo(1);
    assertThat(
            FilaServiceGrpc.newBlockingStub(server.with("Bearer " + key))
                .enqueue(
                    dev.sluice.server.fila.v1.EnqueueRequest.newBuilder().setQueue(queue).build()))
        .isNotNull();
  }

  private List<Delivery> receive(String key, String queue) {
    return server
        .queues(key)
        .receive(ReceiveRequest.newBuilder().setQueue(queue).setMaxMessages(10).build())
        .getDeliveriesList();
  }

  private static void assertDefault(Delivery delivery) {
    assertThat(delivery.getThrottleKeysList()).isEmpty();
    assertThat(delivery.getFairnessKey()).isEqualTo("default");
  }

  /** A message of another tenant that depends on the limit. */
  private int deliveredToOthers() {
    create(BOOTSTRAP, "v", "");
    String others = server.create("produce:v", "consume:v", "limit:shared.*").getSecret();
    Message message = Message.newBuilder().putThrottleKeys("shared.provider", 1).build();
    assertThat(
            server
                .queues(others)
                .enqueue(EnqueueRequest.newBuilder().setQueue("v").addMessages(message).build())
                .getIdsCount())
        .isEqualTo(1);
    return receive(others, "v").size();
  }

  @ParameterizedTest
  @EnumSource
  void hookOfAKeyWithoutLimit_takesNoTokensOfOthers(Way way) {
    oneToken();
    String tenant = tenant("limit:a.*", "limit:shared", "limit:shared.provider.*", "read:*");
    set(way, tenant, "a.q", HOOK);
    assertThat(patterns("a.q")).containsExactly("a.*", "shared", "shared.provider.*");
    produce(tenant, "a.q");
    assertThat(receive(tenant, "a.q")).hasSize(3).allSatisfy(HookAccessTest::assertDefault);
    assertThat(deliveredToOthers()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void hookOfAKeyWithLimit_namesTheThrottleKey(Way way) {
    oneToken();
    String tenant = tenant("limit:shared.*");
    set(way, tenant, "a.q", HOOK);
    assertThat(patterns("a.q")).containsExactly("shared.*");
    String producer = server.create("produce:a.q").getSecret();
    produce(producer, "a.q");
    assertThat(receive(tenant, "a.q"))
        .singleElement()
        .satisfies(
            delivery -> {
              assertThat(delivery.getThrottleKeysList()).containsExactly("shared.provider");
              assertThat(delivery.getFairnessKey()).isEqualTo("f");
            });
    assertThat(deliveredToOthers()).as("the token has been taken").isZero();
  }

  @ParameterizedTest
  @EnumSource(
      names = {"GRPC_CREATE", "FILA_CREATE", "HTTP_CREATE"},
      mode = EnumSource.Mode.EXCLUDE)
  void sameScript_keepsThePatterns_andAnotherScriptGetsThoseOfItsCaller(Way way) {
    String more = tenant("limit:shared.*");
    String less = tenant();
    create(more, "a.q", HOOK);
    change(way, less, "a.q", HOOK);
    assertThat(patterns("a.q")).as("same text by a key with less").containsExactly("shared.*");
    change(way, less, "a.q", OTHER_HOOK);
    assertThat(patterns("a.q")).as("another text by a key with less").isEmpty();
    change(way, less, "a.q", HOOK);
    assertThat(patterns("a.q")).as("the old text by a key with less").isEmpty();
    change(way, more, "a.q", HOOK);
    assertThat(patterns("a.q")).as("same text by a key with more").isEmpty();
    produce(more, "a.q");
    assertThat(receive(more, "a.q")).hasSize(3).allSatisfy(HookAccessTest::assertDefault);
    change(way, more, "a.q", "");
    assertThat(patterns("a.q")).as("without a hook").isEmpty();
    change(way, less, "a.q", HOOK);
    assertThat(patterns("a.q")).as("set after it was removed by a key with more").isEmpty();
    change(way, more, "a.q", OTHER_HOOK);
    assertThat(patterns("a.q")).as("another text by a key with more").containsExactly("shared.*");
    change(way, BOOTSTRAP, "a.q", HOOK);
    assertThat(patterns("a.q")).as("another text by a superadmin").containsExactly("*");
  }

  @Test
  void otherSettings_keepThePatterns() {
    String more = tenant("limit:shared.*");
    create(more, "a.q", HOOK);
    String less = tenant();
    ok(ask(less, "PATCH", "/v1/queues/a.q", "{\"max_depth\":7,\"on_failure\":null}"));
    assertThat(patterns("a.q")).containsExactly("shared.*");
    create(less, "a.own", HOOK);
    ok(ask(BOOTSTRAP, "PATCH", "/v1/queues/a.own", "{\"max_depth\":7}"));
    assertThat(patterns("a.own")).as("a superadmin who changes something else").isEmpty();
  }

  @Test
  void superadminsMayNameEveryThrottleKey() {
    String superadmin =
        server
            .admin(BOOTSTRAP)
            .createApiKey(KeyedServer.request().setSuperadmin(true).build())
            .getSecret();
    String ofAll = tenant("limit:x", "limit:*", "limit:x");
    for (String key : List.of(BOOTSTRAP, superadmin, ofAll)) {
      create(key, "a.q", HOOK);
      assertThat(patterns("a.q")).containsExactly("*");
      assertThat(ask(BOOTSTRAP, "DELETE", "/v1/queues/a.q", "").status()).isEqualTo(204);
    }
  }

  @Test
  void recreatedQueue_hasThePatternsOfItsCreator() {
    create(tenant("limit:shared.*"), "a.q", HOOK);
    String less = tenant();
    assertThat(ask(less, "DELETE", "/v1/queues/a.q", "").status()).isEqualTo(204);
    create(less, "a.q", HOOK);
    assertThat(patterns("a.q")).isEmpty();
  }

  @Test
  void patternsStay_whenTheKeyLosesItsPermission_isRevoked_andOverARestart() throws IOException {
    CreateApiKeyResponse more = key("limit:shared.*");
    String less = tenant();
    create(more.getSecret(), "a.q", HOOK);
    create(less, "a.less", HOOK);
    var changed =
        server
            .admin(BOOTSTRAP)
            .setPermissions(SetPermissionsRequest.newBuilder().setId(more.getId()).build());
    assertThat(changed).isNotNull();
    server.revoke(more.getId());
    assertThat(patterns("a.q")).containsExactly("shared.*");
    restart();
    assertThat(patterns("a.q")).containsExactly("shared.*");
    assertThat(patterns("a.less")).isEmpty();
    produce(less, "a.less");
    assertThat(receive(less, "a.less")).hasSize(3).allSatisfy(HookAccessTest::assertDefault);
    produce(less, "a.q");
    assertThat(receive(less, "a.q"))
        .hasSize(3)
        .allSatisfy(
            delivery ->
                assertThat(delivery.getThrottleKeysList()).containsExactly("shared.provider"));
  }

  @Test
  void hookOfADeadLetterQueue_isCheckedToo() {
    String tenant = tenant();
    create(tenant, "a.q", "");
    change(Way.GRPC_MASK, tenant, "a.q.dlq", HOOK);
    assertThat(patterns("a.q.dlq")).isEmpty();
    produce(tenant, "a.q.dlq");
    assertThat(receive(tenant, "a.q.dlq")).hasSize(3).allSatisfy(HookAccessTest::assertDefault);
  }

  @Test
  void redriveThatRunsTheHook_isCheckedByThePatternsOfTheQueue() {
    String more = tenant("limit:shared.*");
    String less = tenant();
    for (String setter : List.of(more, less)) {
      create(more, "a.q", "");
      produce(more, "a.q.dlq");
      change(Way.GRPC_MASK, setter, "a.q", HOOK);
      RedriveRequest all =
          RedriveRequest.newBuilder().setDeadLetterQueue("a.q.dlq").setRunHook(true).build();
      String redriver = setter.equals(more) ? less : more;
      assertThat(server.queues(redriver).redrive(all).getRedriven()).isEqualTo(3);
      List<String> expected = setter.equals(more) ? List.of("shared.provider") : List.of();
      assertThat(receive(more, "a.q"))
          .hasSize(3)
          .allSatisfy(delivery -> assertThat(delivery.getThrottleKeysList()).isEqualTo(expected));
      assertThat(ask(more, "DELETE", "/v1/queues/a.q", "").status()).isEqualTo(204);
    }
  }

  /** An administrator of all may change what hooks read, but not what they may name. */
  @Test
  void keyFromTheConfiguration_isCheckedToo() {
    String tenant = tenant("limit:a.*");
    create(
        tenant,
        "a.q",
        "function on_enqueue(m) return { throttle_keys = { sluice.get('which') } } end");
    String ofAll = server.create("admin:*").getSecret();
    for (String which : List.of("shared.provider", "a.own")) {
      var set =
          server
              .admin(ofAll)
              .setConfig(SetConfigRequest.newBuilder().setKey("which").setValue(which).build());
      assertThat(set).isNotNull();
      ok(ask(tenant, "POST", "/v1/queues/a.q/messages", "{\"payload\":\"x\"}"));
    }
    assertThat(receive(tenant, "a.q"))
        .extracting(delivery -> List.copyOf(delivery.getThrottleKeysList()))
        .containsExactlyInAnyOrder(List.of(), List.of("a.own"));
  }

  /** A nack with on_failure runs no on_enqueue: the message keeps its keys. */
  @Test
  void retry_keepsTheThrottleKeysThatTheMessageHas() {
    String tenant = tenant("limit:shared.*");
    create(tenant, "a.q", HOOK);
    ok(ask(tenant, "POST", "/v1/queues/a.q/messages", "{\"payload\":\"x\"}"));
    change(Way.GRPC_MASK, tenant(), "a.q", OTHER_HOOK);
    Delivery delivery = receive(tenant, "a.q").get(0);
    Settlement nack =
        Settlement.newBuilder()
            .setId(delivery.getId())
            .setNack(Settlement.Nack.newBuilder().setDelayMs(0))
            .build();
    var settled =
        server
            .queues(tenant)
            .settle(
                dev.sluice.proto.v1.SettleRequest.newBuilder()
                    .setQueue("a.q")
                    .addSettlements(nack)
                    .build());
    assertThat(settled.getResults(0).hasError()).isFalse();
    assertThat(receive(tenant, "a.q").get(0).getThrottleKeysList())
        .containsExactly("shared.provider");
  }

  @Test
  void patternsAreShown_andNoCallerSetsThem() {
    String tenant = tenant();
    create(tenant, "a.q", HOOK);
    String forged = "{\"on_enqueue\":\"%s\",\"hook_throttle_keys\":[\"*\"]}".formatted(HOOK);
    for (String method : List.of("PUT", "PATCH")) {
      assertThat(ask(tenant, method, "/v1/queues/a.q", forged).status()).isEqualTo(400);
    }
    for (String body :
        List.of(
            "{\"name\":\"a.n\",\"config\":%s}".formatted(forged),
            "{\"name\":\"a.n\",\"hook_throttle_keys\":[\"*\"]}")) {
      assertThat(ask(tenant, "POST", "/v1/queues", body).status()).isEqualTo(400);
    }
    UpdateQueueRequest masked =
        UpdateQueueRequest.newBuilder()
            .setName("a.q")
            .setUpdateMask(FieldMask.newBuilder().addPaths("hook_throttle_keys"))
            .build();
    assertThat(statusOf(() -> server.queues(tenant).updateQueue(masked)).getCode())
        .isEqualTo(Code.INVALID_ARGUMENT);
    assertThat(patterns("a.q")).isEmpty();
    create(tenant("limit:shared.*"), "a.other", HOOK);
    assertThat(
            server
                .queues(tenant)
                .getQueue(GetQueueRequest.newBuilder().setName("a.other").build())
                .toString())
        .contains("hook_throttle_keys: \"shared.*\"");
  }
}
