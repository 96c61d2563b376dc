package dev.sluice.server;

import static dev.sluice.server.FilaClient.codeOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.server.FilaClient.Stream;
import dev.sluice.server.fila.ConfigEntry;
import dev.sluice.server.fila.CreateQueueRequest;
import dev.sluice.server.fila.DeleteQueueRequest;
import dev.sluice.server.fila.GetConfigRequest;
import dev.sluice.server.fila.ListConfigRequest;
import dev.sluice.server.fila.ListQueuesRequest;
import dev.sluice.server.fila.Message;
import dev.sluice.server.fila.PerFairnessKeyStats;
import dev.sluice.server.fila.PerThrottleKeyStats;
import dev.sluice.server.fila.QueueConfig;
import dev.sluice.server.fila.QueueInfo;
import dev.sluice.server.fila.RedriveRequest;
import dev.sluice.server.fila.SetConfigRequest;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class FilaAdministrationTest {
  private static final String BY_TENANT =
      """
      function on_enqueue(msg)
        return { fairness_key = msg.headers.tenant, weight = 2, throttle_keys = { "slow" } }
      end
      """;
  private static final String TO_DEAD_LETTERS =
      "function on_failure(msg) return { action = 'dlq' } end";

  @TempDir static Path dir;
  private static SluiceServer server;
  private static FilaClient client;

  @BeforeAll
  static void start() throws Exception {
    server = SluiceServer.start(ServerConfig.defaults(dir).withPorts(0));
    client = new FilaClient(server);
  }

  @AfterAll
  static void stop() {
    client.close();
    server.close();
  }

  @Test
  void createQueue_refusesWhatExistsOrHasNoName() {
    client.create("once");
    assertThat(codeOf(() -> client.create("once"))).isEqualTo(Status.Code.ALREADY_EXISTS);
    assertThat(codeOf(() -> client.create(""))).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> client.create("no spaces"))).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  @Test
  void createQueue_checksVisibilityTimeout() {
    for (long wrong : List.of(1L, 999L, -1L)) {
      assertThat(codeOf(() -> create("visible", wrong))).isEqualTo(Status.Code.INVALID_ARGUMENT);
    }
    create("visible", 1_000);
    create("usual", 0);
  }

  private static void create(String queue, long visibilityTimeoutMs) {
    client.admin.createQueue(
        CreateQueueRequest.newBuilder()
            .setName(queue)
            .setConfig(QueueConfig.newBuilder().setVisibilityTimeoutMs(visibilityTimeoutMs))
            .build());
  }

  @Test
  void createQueue_refusesScriptsThatDoNotCompile() {
    assertThat(codeOf(() -> client.create("lua", "function on_enqueue(", "")))
        .isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> client.create("lua", "", "return return")))
        .isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> client.stats("lua"))).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void deleteQueue_takesItsDeadLettersAlong() {
    client.create("gone");
    delete("gone");
    assertThat(codeOf(() -> client.stats("gone"))).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(codeOf(() -> client.stats("gone.dlq"))).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(codeOf(() -> delete("gone"))).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(codeOf(() -> delete(""))).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  private static void delete(String queue) {
    client.admin.deleteQueue(DeleteQueueRequest.newBuilder().setQueue(queue).build());
  }

  @Test
  void config_isSetReadListedAndTakenAway() {
    set("app.b", "2");
    set("app.a", "1");
    set("apq", "3");
    assertThat(get("app.a")).isEqualTo("1");
    var listed = client.admin.listConfig(ListConfigRequest.newBuilder().setPrefix("app.").build());
    assertThat(listed.getEntriesList())
        .containsExactly(
            ConfigEntry.newBuilder().setKey("app.a").setValue("1").build(),
            ConfigEntry.newBuilder().setKey("app.b").setValue("2").build());
    assertThat(listed.getTotalCount()).isEqualTo(2);
    set("app.a", "");
    assertThat(get("app.a")).isEmpty();
    assertThat(get("never set")).isEmpty();
  }

  @Test
  void config_refusesWhatIsTooLongOrNoRate() {
    set("k".repeat(256), "v".repeat(1_024));
    for (Map.Entry<String, String> wrong :
        List.of(
            Map.entry("", "v"),
            Map.entry("k".repeat(257), "v"),
            Map.entry("throttle." + "k".repeat(248), "1,1"),
            Map.entry("k", "v".repeat(1_025)),
            Map.entry("throttle.", "1,1"),
            Map.entry("throttle.k", "fast"),
            Map.entry("throttle.k", "1"),
            Map.entry("throttle.k", "-1,1"),
            Map.entry("throttle.k", "NaN,1"))) {
      assertThat(codeOf(() -> set(wrong.getKey(), wrong.getValue())))
          .as(wrong.toString())
          .isEqualTo(Status.Code.INVALID_ARGUMENT);
    }
    assertThat(get("throttle.k")).isEmpty();
    assertThat(codeOf(() -> get(""))).isEqualTo(Status.Code.INVALID_ARGUMENT);
    var tooLong = ListConfigRequest.newBuilder().setPrefix("p".repeat(257)).build();
    assertThat(codeOf(() -> client.admin.listConfig(tooLong)))
        .isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  private static void set(String key, String value) {
    client.admin.setConfig(SetConfigRequest.newBuilder().setKey(key).setValue(value).build());
  }

  private static String get(String key) {
    return client.admin.getConfig(GetConfigRequest.newBuilder().setKey(key).build()).getValue();
  }

  @Test
  void stats_countKeysThrottlesAndConsumers() throws Exception {
    client.create("counted", BY_TENANT, "");
    set("throttle.slow", "0.001,1");
    client.enqueue("counted", "x", Map.of("tenant", "a"));
    client.enqueue("counted", "x", Map.of("tenant", "a"));
    client.enqueue("counted", "x", Map.of("tenant", "b"));
    Stream stream = client.consume("counted");
    stream.next();
    var stats = client.stats("counted");
    assertThat(stats.getDepth()).isEqualTo(3);
    assertThat(stats.getInFlight()).isEqualTo(1);
    assertThat(stats.getActiveConsumers()).isEqualTo(1);
    assertThat(stats.getQuantum()).isEqualTo(1);
    assertThat(stats.getActiveFairnessKeys()).isEqualTo(stats.getPerKeyStatsCount());
    assertThat(stats.getPerKeyStatsList())
        .extracting(PerFairnessKeyStats::getKey, PerFairnessKeyStats::getPendingCount)
        .containsExactlyInAnyOrder(tuple("a", 1L), tuple("b", 1L));
    assertThat(stats.getPerKeyStats(0).getWeight()).isEqualTo(2);
    PerThrottleKeyStats throttle = stats.getPerThrottleStats(0);
    assertThat(throttle.getKey()).isEqualTo("slow");
    assertThat(throttle.getRatePerSecond()).isEqualTo(0.001);
    assertThat(throttle.getBurst()).isEqualTo(1);
    assertThat(throttle.getTokens()).isLessThan(1);
    set("throttle.slow", "");
    stream.next();
    stream.next();
    assertThat(client.stats("counted").getPerThrottleStatsList()).isEmpty();
    assertThat(codeOf(() -> client.stats(""))).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> client.stats("nowhere"))).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void listQueues_hasThoseOfDeadLetters() {
    client.create("listed");
    client.enqueue("listed", "x");
    List<QueueInfo> queues =
        client.admin.listQueues(ListQueuesRequest.getDefaultInstance()).getQueuesList();
    assertThat(queues)
        .contains(
            QueueInfo.newBuilder().setName("listed").setDepth(1).build(),
            QueueInfo.newBuilder().setName("listed.dlq").build());
  }

  @Test
  void redrive_sendsDeadLettersBackAsNew() throws Exception {
    client.create("retried", "", TO_DEAD_LETTERS);
    Stream stream = client.consume("retried");
    for (String payload : List.of("first", "second", "third")) {
      client.enqueue("retried", payload);
      client.nack("retried", stream.next().getId());
    }
    assertThat(client.stats("retried.dlq").getDepth()).isEqualTo(3);
    assertThat(redrive("retried.dlq", 1)).isEqualTo(1);
    Message first = stream.next();
    assertThat(first.getPayload().toStringUtf8()).isEqualTo("first");
    assertThat(first.getMetadata().getAttemptCount()).isZero();
    assertThat(redrive("retried.dlq", 0)).isEqualTo(2);
    assertThat(redrive("retried.dlq", -1)).isZero();
    assertThat(stream.next().getPayload().toStringUtf8()).isEqualTo("second");
    assertThat(stream.next().getPayload().toStringUtf8()).isEqualTo("third");
    stream.cancel();
  }

  @Test
  void redrive_refusesWhatHoldsNoDeadLetters() {
    client.create("ordinary");
    client.create("orphan.dlq");
    assertThat(codeOf(() -> redrive("", 0))).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> redrive("ordinary", 0))).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(codeOf(() -> redrive("nowhere.dlq", 0))).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(codeOf(() -> redrive("orphan.dlq", 0))).isEqualTo(Status.Code.FAILED_PRECONDITION);
  }

  private static long redrive(String queue, long count) {
    return client
        .admin
        .redrive(RedriveRequest.newBuilder().setDlqQueue(queue).setCount(count).build())
        .getRedriven();
  }
}
