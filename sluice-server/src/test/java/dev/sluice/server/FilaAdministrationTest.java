package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.server.FilaClient.Stream;
import dev.sluice.server.fila.v1.ConfigEntry;
import dev.sluice.server.fila.v1.CreateQueueRequest;
import dev.sluice.server.fila.v1.DeleteQueueRequest;
import dev.sluice.server.fila.v1.GetConfigRequest;
import dev.sluice.server.fila.v1.ListConfigRequest;
import dev.sluice.server.fila.v1.ListQueuesRequest;
import dev.sluice.server.fila.v1.Message;
import dev.sluice.server.fila.v1.PerFairnessKeyStats;
import dev.sluice.server.fila.v1.PerThrottleKeyStats;
import dev.sluice.server.fila.v1.QueueConfig;
import dev.sluice.server.fila.v1.QueueInfo;
import dev.sluice.server.fila.v1.RedriveRequest;
import dev.sluice.server.fila.v1.SetConfigRequest;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code fila.v1.FilaAdmin}, over a real socket, by a stock client. */
@Timeout(60)
final class FilaAdministrationTest {
  private static final String BY_TENANT =
      """
      function on_enqueue(msg)
        return { fairness_key = msg.headers.tenant, weight = 2, throttle_keys = { "slow" } }
      end
      """;
  private static final String TO_DEAD_LETTERS =
      "function on_failure(msg) return { action = 'dlq' } end";

  @TempDir private static Path dir;
  private static TestServer server;
  private static FilaClient client;

  @BeforeAll
  static void start() throws Exception {
    server = TestServer.start(dir);
    client = new FilaClient(server.channel);
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void createQueue_refusesExistingAndInvalidNames() {
    client.create("once");
    assertRefused(() -> client.create("once"), Status.Code.ALREADY_EXISTS, "once");
    assertRefused(() -> client.create(""), Status.Code.INVALID_ARGUMENT, "must not be empty");
    assertRefused(() -> client.create("."), Status.Code.INVALID_ARGUMENT, "must not be . or ..");
    assertRefused(() -> client.create("no spaces"), Status.Code.INVALID_ARGUMENT, "no spaces");
  }

  @Test
  void createQueue_checksVisibilityTimeout() {
    for (long wrong : List.of(1L, 999L, -1L)) {
      assertRefused(
          () -> create("visible", wrong), Status.Code.INVALID_ARGUMENT, "visibility_timeout_ms");
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
    assertRefused(
        () -> client.create("lua", "function on_enqueue(", ""),
        Status.Code.INVALID_ARGUMENT,
        "on_");
    assertRefused(
        () -> client.create("lua", "", "return return"), Status.Code.INVALID_ARGUMENT, "on_");
    assertRefused(() -> client.stats("lua"), Status.Code.NOT_FOUND, "lua");
  }

  @Test
  void deleteQueue_deletesItsDeadLetterQueue() {
    client.create("gone");
    delete("gone");
    assertRefused(() -> client.stats("gone"), Status.Code.NOT_FOUND, "gone");
    assertRefused(() -> client.stats("gone.dlq"), Status.Code.NOT_FOUND, "gone.dlq");
    assertRefused(() -> delete("gone"), Status.Code.NOT_FOUND, "gone");
    assertRefused(() -> delete(""), Status.Code.INVALID_ARGUMENT, "must not be empty");
  }

  private static void delete(String queue) {
    client.admin.deleteQueue(DeleteQueueRequest.newBuilder().setQueue(queue).build());
  }

  @Test
  void config_isSetReadListedAndRemoved() {
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
  void config_refusesLongEntriesAndInvalidRates() {
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
      assertRefused(
          () -> set(wrong.getKey(), wrong.getValue()), Status.Code.INVALID_ARGUMENT, "must");
    }
    assertThat(get("throttle.k")).isEmpty();
    assertRefused(() -> get(""), Status.Code.INVALID_ARGUMENT, "key must not be empty");
    var tooLong = ListConfigRequest.newBuilder().setPrefix("p".repeat(257)).build();
    assertRefused(
        () -> client.admin.listConfig(tooLong), Status.Code.INVALID_ARGUMENT, "bytes of prefix");
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
    assertRefused(() -> client.stats(""), Status.Code.INVALID_ARGUMENT, "must not be empty");
    assertRefused(() -> client.stats("nowhere"), Status.Code.NOT_FOUND, "nowhere");
  }

  @Test
  void listQueues_includesDeadLetterQueues() {
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
  void redrive_returnsDeadLettersWithZeroAttempts_andTheirIds() throws Exception {
    client.create("retried", "", TO_DEAD_LETTERS);
    Stream stream = client.consume("retried");
    List<String> ids = new ArrayList<>();
    for (String payload : List.of("first", "second", "third")) {
      ids.add(client.enqueue("retried", payload));
      client.nack("retried", stream.next().getId());
    }
    assertThat(client.stats("retried.dlq").getDepth()).isEqualTo(3);
    assertThat(redrive("retried.dlq", 1)).isEqualTo(1);
    Message first = stream.next();
    assertThat(first.getId()).isEqualTo(ids.get(0));
    assertThat(first.getPayload().toStringUtf8()).isEqualTo("first");
    assertThat(first.getMetadata().getAttemptCount()).isZero();
    assertThat(redrive("retried.dlq", 0)).isEqualTo(2);
    assertThat(redrive("retried.dlq", -1)).isZero();
    assertThat(stream.next().getId()).isEqualTo(ids.get(1));
    assertThat(stream.next().getId()).isEqualTo(ids.get(2));
    ids.forEach(id -> client.ack("retried", id));
    assertThat(client.stats("retried").getDepth()).isZero();
    stream.cancel();
  }

  @Test
  void redrive_requiresADeadLetterQueue() {
    client.create("ordinary");
    client.create("orphan.dlq");
    assertRefused(() -> redrive("", 0), Status.Code.INVALID_ARGUMENT, "must not be empty");
    assertRefused(() -> redrive("ordinary", 0), Status.Code.INVALID_ARGUMENT, "ordinary");
    assertRefused(() -> redrive("nowhere.dlq", 0), Status.Code.NOT_FOUND, "nowhere.dlq");
    assertRefused(() -> redrive("orphan.dlq", 0), Status.Code.FAILED_PRECONDITION, "orphan");
  }

  private static long redrive(String queue, long count) {
    return client
        .admin
        .redrive(RedriveRequest.newBuilder().setDlqQueue(queue).setCount(count).build())
        .getRedriven();
  }
}
