package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.FilaClient.Stream;
import dev.sluice.server.fila.v1.CreateQueueRequest;
import dev.sluice.server.fila.v1.GetStatsResponse;
import dev.sluice.server.fila.v1.Message;
import dev.sluice.server.fila.v1.QueueConfig;
import dev.sluice.server.fila.v1.SetConfigRequest;
import io.grpc.Status;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Leases of messages whose {@code fila.v1} stream has closed: a client settles by calls. */
@Timeout(120)
final class FilaLeasesTest {
  private static final long SHORTEST_MS = 1_000;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

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

  private void create(String queue, long visibilityTimeoutMs, String onFailure) {
    var created =
        client.admin.createQueue(
            CreateQueueRequest.newBuilder()
                .setName(queue)
                .setConfig(
                    QueueConfig.newBuilder()
                        .setVisibilityTimeoutMs(visibilityTimeoutMs)
                        .setOnFailureScript(onFailure))
                .build());
    assertThat(created.getQueueId()).isEqualTo(queue);
  }

  private static void assertAttempts(Message message, String id, int attempts) {
    assertThat(message.getId()).isEqualTo(id);
    assertThat(message.getMetadata().getAttemptCount()).isEqualTo(attempts);
  }

  private void close(Stream stream, String queue) {
    stream.cancel();
    await().atMost(PATIENCE).until(() -> client.stats(queue).getActiveConsumers() == 0);
  }

  /** A consumer that takes a message and closes its stream. */
  private Message takeAndClose(String queue) throws Exception {
    Stream stream = client.consume(queue);
    Message message = stream.next();
    close(stream, queue);
    return message;
  }

  @Test
  void leaseThatExpiresAfterItsStreamHasClosed_isAnAttempt() throws Exception {
    create("q", SHORTEST_MS, "");
    String id = client.enqueue("q", "x");
    long from = System.nanoTime();
    assertAttempts(takeAndClose("q"), id, 0);
    Stream second = client.consume("q");
    assertAttempts(second.next(), id, 1);
    assertThat(Duration.ofNanos(System.nanoTime() - from))
        .isGreaterThanOrEqualTo(Duration.ofMillis(SHORTEST_MS));
    client.ack("q", id);
    assertThat(client.stats("q").getDepth()).isZero();
  }

  @Test
  void closedStream_keepsLeasesOfSentMessages() throws Exception {
    client.create("q");
    String acked = client.enqueue("q", "acked");
    String nacked = client.enqueue("q", "nacked");
    Stream first = client.consume("q");
    assertAttempts(first.next(), acked, 0);
    assertAttempts(first.next(), nacked, 0);
    close(first, "q");
    assertThat(client.stats("q").getInFlight()).isEqualTo(2);
    Stream second = client.consume("q");
    client.ack("q", acked);
    assertThat(second.isEmpty()).isTrue();
    client.nack("q", nacked);
    assertAttempts(second.next(), nacked, 1);
    assertRefused(() -> client.ack("q", acked), Status.Code.NOT_FOUND, "not leased");
    client.ack("q", nacked);
    assertThat(client.stats("q").getDepth()).isZero();
  }

  /** A message that ends its consumer's process each time is not tried for ever. */
  @Test
  void messageThatCrashesItsConsumer_isDeadLetteredByTheScript() throws Exception {
    create(
        "q",
        SHORTEST_MS,
        """
        function on_failure(msg)
          return { action = msg.attempts >= 2 and msg.error == 'lease expired' and 'dlq' or 'retry' }
        end
        """);
    String id = client.enqueue("q", "poison");
    assertAttempts(takeAndClose("q"), id, 0);
    assertAttempts(takeAndClose("q"), id, 1);
    assertAttempts(client.consume("q.dlq").next(), id, 2);
    client.ack("q.dlq", id);
  }

  /**
   * Messages that were never sent go to others at once, with their tokens and without an attempt.
   */
  @Test
  void closedStream_returnsUnsentMessages() throws Exception {
    int messages = 150;
    setConfig("throttle.all", "0," + messages);
    client.create("q", "function on_enqueue(msg) return { throttle_keys = { 'all' } } end", "");
    client.enqueue("q", messages, 64 << 10);
    Stream slow = client.consume("q", 1);
    slow.next();
    await().atMost(PATIENCE).until(() -> client.stats("q").getInFlight() >= 64);
    close(slow, "q");
    await().atMost(PATIENCE).until(() -> client.stats("q").getInFlight() < 64);
    GetStatsResponse stats = client.stats("q");
    long sent = stats.getInFlight();
    assertThat(sent).isPositive();
    assertThat(stats.getPerThrottleStats(0).getTokens()).isEqualTo((double) (messages - sent));
    Stream fast = client.consume("q");
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < messages - sent; i++) {
      Message message = fast.next();
      assertThat(message.getMetadata().getAttemptCount()).isZero();
      ids.add(message.getId());
    }
    assertThat(ids).hasSize((int) (messages - sent));
    assertThat(client.stats("q").getInFlight()).isEqualTo(messages);
  }

  private void setConfig(String key, String value) {
    var set =
        client.admin.setConfig(SetConfigRequest.newBuilder().setKey(key).setValue(value).build());
    assertThat(set).isNotNull();
  }

  @Test
  void lease_outlivesARestartOfTheServer() throws Exception {
    client.create("q");
    String id = client.enqueue("q", "x");
    Stream stream = client.consume("q");
    assertAttempts(stream.next(), id, 0);
    server.close();
    assertThat(stream.end().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
    start();
    assertThat(client.stats("q").getInFlight()).isEqualTo(1);
    client.ack("q", id);
    assertThat(client.stats("q").getDepth()).isZero();
  }
}
