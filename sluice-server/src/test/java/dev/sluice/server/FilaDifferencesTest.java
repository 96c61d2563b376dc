package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.FilaClient.Stream;
import dev.sluice.server.fila.v1.CreateQueueRequest;
import dev.sluice.server.fila.v1.DeleteQueueRequest;
import dev.sluice.server.fila.v1.Message;
import dev.sluice.server.fila.v1.QueueConfig;
import dev.sluice.server.fila.v1.RedriveRequest;
import dev.sluice.server.fila.v1.SetConfigRequest;
import io.grpc.Status;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Behaviors in which {@code fila.v1} differs from fila on purpose; docs/fila.md lists them all. */
@Timeout(120)
final class FilaDifferencesTest {
  private static final String BY_HEADERS =
      """
      function on_enqueue(msg)
        local h = msg.headers
        return { fairness_key = h.key, weight = tonumber(h.weight), throttle_keys = { h.throttle } }
      end
      """;
  private static final String TO_DEAD_LETTERS =
      "function on_failure(msg) return { action = 'dlq' } end";

  @TempDir private Path dir;
  private TestServer server;
  private FilaClient client;

  @BeforeEach
  void start() throws Exception {
    server = TestServer.start(dir);
    client = new FilaClient(server.channel);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private void restart() throws Exception {
    server.close();
    start();
  }

  private void delete(String queue) {
    var deleted = client.admin.deleteQueue(DeleteQueueRequest.newBuilder().setQueue(queue).build());
    assertThat(deleted).isNotNull();
  }

  private void setConfig(String key, String value) {
    var set =
        client.admin.setConfig(SetConfigRequest.newBuilder().setKey(key).setValue(value).build());
    assertThat(set).isNotNull();
  }

  private void close(Stream stream, String queue) {
    stream.cancel();
    await().until(() -> client.stats(queue).getActiveConsumers() == 0);
  }

  private static String text(Message message) {
    return message.getPayload().toStringUtf8();
  }

  // ---- messages and leases

  @Test
  void id_isAUuidOfVersion8() {
    client.create("q");
    assertThat(UUID.fromString(client.enqueue("q", "x")).version()).isEqualTo(8);
  }

  @Test
  void lease_expiresOnTime_underLoad() throws Exception {
    var created =
        client.admin.createQueue(
            CreateQueueRequest.newBuilder()
                .setName("q")
                .setConfig(QueueConfig.newBuilder().setVisibilityTimeoutMs(1_000))
                .build());
    assertThat(created.getQueueId()).isEqualTo("q");
    client.create("busy");
    String id = client.enqueue("q", "x");
    Stream stream = client.consume("q");
    assertThat(stream.next().getId()).isEqualTo(id);
    long from = System.nanoTime();
    while (stream.isEmpty() && System.nanoTime() - from < Duration.ofSeconds(30).toNanos()) {
      client.enqueue("busy", 100, 10);
    }
    assertThat(stream.isEmpty()).as("delivered again while messages keep coming").isFalse();
    assertThat(stream.next().getMetadata().getAttemptCount()).isEqualTo(1);
  }

  @Test
  void delayOfOnFailure_isKept() throws Exception {
    String later = "function on_failure(msg) return { action = 'retry', delay_ms = 400 } end";
    client.create("q", "", later);
    String id = client.enqueue("q", "x");
    Stream stream = client.consume("q");
    assertThat(stream.next().getId()).isEqualTo(id);
    long from = System.nanoTime();
    client.nack("q", id);
    assertThat(client.stats("q").getDepth()).as("it counts while it waits").isEqualTo(1);
    assertThat(stream.next().getId()).isEqualTo(id);
    assertThat(Duration.ofNanos(System.nanoTime() - from))
        .isGreaterThanOrEqualTo(Duration.ofMillis(400));
  }

  @Test
  void retriedMessage_staysAtTheBack_overARestart() throws Exception {
    client.create("q");
    String first = client.enqueue("q", "first");
    String second = client.enqueue("q", "second");
    Stream stream = client.consume("q");
    assertThat(text(stream.next()) + text(stream.next())).isEqualTo("firstsecond");
    close(stream, "q");
    client.nack("q", second);
    client.nack("q", first);
    restart();
    Stream again = client.consume("q");
    assertThat(List.of(text(again.next()), text(again.next()))).containsExactly("second", "first");
  }

  @Test
  void messagesOfADeletedQueue_areNotRestored() throws Exception {
    client.create("q");
    client.enqueue("q", "x");
    delete("q");
    client.create("q");
    restart();
    assertThat(client.stats("q").getDepth()).isZero();
  }

  @Test
  void withoutADeadLetterQueue_aDeadLetteredMessage_isRetriedAfterASecond() throws Exception {
    client.create("q", "", TO_DEAD_LETTERS);
    delete("q.dlq");
    String id = client.enqueue("q", "x");
    Stream stream = client.consume("q");
    assertThat(stream.next().getId()).isEqualTo(id);
    long from = System.nanoTime();
    client.nack("q", id);
    assertThat(stream.next().getMetadata().getAttemptCount()).isEqualTo(1);
    assertThat(Duration.ofNanos(System.nanoTime() - from))
        .isGreaterThanOrEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void redrive_takesTheOldestDeadLetterFirst_acrossKeys() throws Exception {
    client.create("q", BY_HEADERS, TO_DEAD_LETTERS);
    Stream stream = client.consume("q");
    for (String key : List.of("long key", "k")) {
      client.enqueue("q", key, Map.of("key", key));
      client.nack("q", stream.next().getId());
    }
    var redrive = RedriveRequest.newBuilder().setDlqQueue("q.dlq").setCount(1).build();
    assertThat(client.admin.redrive(redrive).getRedriven()).isEqualTo(1);
    assertThat(text(stream.next())).isEqualTo("long key");
  }

  // ---- turns and throttles

  @Test
  void retriedMessage_doesNotRestoreAnOldWeight() throws Exception {
    client.create("q", BY_HEADERS, "");
    String old = client.enqueue("q", "old", Map.of("key", "k", "weight", "1"));
    Stream stream = client.consume("q");
    assertThat(stream.next().getId()).isEqualTo(old);
    close(stream, "q");
    client.enqueue("q", "new", Map.of("key", "k", "weight", "5"));
    client.nack("q", old);
    var stats = client.stats("q").getPerKeyStats(0);
    assertThat(stats.getPendingCount()).isEqualTo(2);
    assertThat(stats.getWeight()).isEqualTo(5);
  }

  @Test
  void throttledMessage_doesNotBlockOthersOfItsKey() throws Exception {
    setConfig("throttle.closed", "0,0");
    client.create("q", BY_HEADERS, "");
    client.enqueue("q", "throttled", Map.of("key", "k", "throttle", "closed"));
    client.enqueue("q", "free", Map.of("key", "k"));
    Stream stream = client.consume("q");
    assertThat(text(stream.next())).isEqualTo("free");
    setConfig("throttle.closed", "");
    assertThat(text(stream.next())).isEqualTo("throttled");
  }

  @Test
  void restart_givesNoFreshBurst() throws Exception {
    setConfig("throttle.few", "0,2");
    client.create("q", BY_HEADERS, "");
    for (int i = 0; i < 3; i++) {
      client.enqueue("q", "m" + i, Map.of("key", "k", "throttle", "few"));
    }
    Stream stream = client.consume("q");
    assertThat(text(stream.next()) + text(stream.next())).isEqualTo("m0m1");
    restart();
    assertThat(client.stats("q").getPerThrottleStats(0).getTokens()).isZero();
  }

  // ---- queues

  @Test
  void scriptWhoseTopLevelFails_isRefused() {
    assertRefused(
        () -> client.create("q", "error('no')", ""), Status.Code.INVALID_ARGUMENT, "on_enqueue");
    assertRefused(() -> client.stats("q"), Status.Code.NOT_FOUND, "q");
  }

  @Test
  void globalsOfAScript_doNotOutliveACall() throws Exception {
    client.create(
        "q",
        """
        count = (count or 0) + 1
        function on_enqueue(msg) return { fairness_key = "call " .. count } end
        """,
        "");
    client.enqueue("q", "x");
    client.enqueue("q", "y");
    Stream stream = client.consume("q");
    List<String> keys = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      keys.add(stream.next().getMetadata().getFairnessKey());
    }
    assertThat(keys).containsExactly("call 1", "call 1");
  }

  @Test
  void script_isLua52() {
    assertRefused(
        () -> client.create("q", "local half = 7 // 2", ""),
        Status.Code.INVALID_ARGUMENT,
        "on_enqueue");
    assertRefused(
        () -> client.create("q", "local long = utf8.len('x')", ""),
        Status.Code.INVALID_ARGUMENT,
        "on_enqueue");
  }

  @Test
  void stats_haveTheFirstThousandKeys() {
    client.create("q", BY_HEADERS, "");
    for (int i = 0; i < 1_001; i++) {
      client.enqueue("q", "x", Map.of("key", "k" + i));
    }
    var stats = client.stats("q");
    assertThat(stats.getActiveFairnessKeys()).isEqualTo(1_001);
    assertThat(stats.getPerKeyStatsCount()).isEqualTo(1_000);
  }

  @Test
  void message_hasAtMost100Headers() {
    client.create("q");
    Map<String, String> headers = new HashMap<>();
    for (int i = 0; i < 101; i++) {
      headers.put("h" + i, "v");
    }
    assertRefused(() -> client.enqueue("q", "x", headers), Status.Code.INVALID_ARGUMENT, "headers");
    headers.remove("h0");
    assertThat(client.enqueue("q", "x", headers)).isNotEmpty();
  }
}
