package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.server.FilaClient.Stream;
import dev.sluice.server.fila.v1.ConsumeRequest;
import dev.sluice.server.fila.v1.ConsumeResponse;
import dev.sluice.server.fila.v1.DeleteQueueRequest;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import dev.sluice.server.fila.v1.Message;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code fila.v1.FilaService}, over a real socket, by a stock client. */
@Timeout(60)
final class FilaMessagesTest {
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
  void consume_deliversEnqueuedMessages() throws Exception {
    client.create("plain");
    String id = client.enqueue("plain", "hello", Map.of("h", "v"));
    Message message = client.consume("plain").next();
    assertThat(message.getId()).isEqualTo(id);
    assertThat(message.getPayload().toStringUtf8()).isEqualTo("hello");
    assertThat(message.getHeadersMap()).containsExactly(Map.entry("h", "v"));
    assertThat(message.getTimestamps().getEnqueuedAt().getSeconds()).isPositive();
    var metadata = message.getMetadata();
    assertThat(metadata.getFairnessKey()).isEqualTo("default");
    assertThat(metadata.getWeight()).isEqualTo(1);
    assertThat(metadata.getThrottleKeysList()).isEmpty();
    assertThat(metadata.getAttemptCount()).isZero();
    assertThat(metadata.getQueueId()).isEqualTo("plain");
  }

  @Test
  void nack_redeliversOnTheSameStream() throws Exception {
    client.create("again");
    String id = client.enqueue("again", "x");
    Stream stream = client.consume("again");
    assertThat(stream.next().getMetadata().getAttemptCount()).isZero();
    client.nack("again", id);
    Message second = stream.next();
    assertThat(second.getId()).isEqualTo(id);
    assertThat(second.getMetadata().getAttemptCount()).isEqualTo(1);
    client.ack("again", id);
    assertThat(client.stats("again").getDepth()).isZero();
    assertRefused(() -> client.ack("again", id), Status.Code.NOT_FOUND, "not leased");
    assertRefused(() -> client.nack("again", id), Status.Code.NOT_FOUND, "not leased");
  }

  @Test
  void ack_ofAMessageWithoutLease_isNotFound() {
    client.create("waiting");
    String id = client.enqueue("waiting", "x");
    assertRefused(() -> client.ack("waiting", id), Status.Code.NOT_FOUND, "not leased");
    assertRefused(
        () -> client.ack("waiting", UUID.randomUUID().toString()),
        Status.Code.NOT_FOUND,
        "not leased");
    assertThat(client.stats("waiting").getDepth()).isEqualTo(1);
  }

  @Test
  void unknownQueue_isNotFound() throws Exception {
    String id = UUID.randomUUID().toString();
    assertRefused(() -> client.enqueue("nowhere", "x"), Status.Code.NOT_FOUND, "nowhere");
    assertRefused(() -> client.ack("nowhere", id), Status.Code.NOT_FOUND, "nowhere");
    assertRefused(() -> client.nack("nowhere", id), Status.Code.NOT_FOUND, "nowhere");
    Status end = client.consume("nowhere").end();
    assertThat(end.getCode()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(end.getDescription()).contains("nowhere");
  }

  @Test
  void emptyNames_areInvalid() throws Exception {
    client.create("named");
    String id = UUID.randomUUID().toString();
    assertRefused(() -> client.enqueue("", "x"), Status.Code.INVALID_ARGUMENT, "must not be empty");
    assertRefused(() -> client.ack("", id), Status.Code.INVALID_ARGUMENT, "must not be empty");
    assertRefused(() -> client.nack("", id), Status.Code.INVALID_ARGUMENT, "must not be empty");
    assertRefused(
        () -> client.ack("named", ""),
        Status.Code.INVALID_ARGUMENT,
        "message_id must not be empty");
    assertRefused(
        () -> client.nack("named", ""),
        Status.Code.INVALID_ARGUMENT,
        "message_id must not be empty");
    assertThat(client.consume("").end().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
  }

  @Test
  void malformedId_isInvalid() {
    client.create("ids");
    for (String id : List.of("x", "not-a-uuid-but-thirty-six-characters", "../../etc/passwd")) {
      assertRefused(() -> client.ack("ids", id), Status.Code.INVALID_ARGUMENT, id);
      assertRefused(() -> client.nack("ids", id), Status.Code.INVALID_ARGUMENT, id);
      // The form of the id is checked before the queue.
      assertRefused(() -> client.ack("nowhere", id), Status.Code.INVALID_ARGUMENT, id);
    }
  }

  @Test
  void onEnqueue_decidesKeysAndWeight() throws Exception {
    client.create(
        "scripted",
        """
        function on_enqueue(msg)
          return {
            fairness_key = msg.headers.tenant,
            weight = 3,
            throttle_keys = { "api:" .. msg.headers.tenant, "all" }
          }
        end
        """,
        "");
    client.enqueue("scripted", "x", Map.of("tenant", "acme"));
    var metadata = client.consume("scripted").next().getMetadata();
    assertThat(metadata.getFairnessKey()).isEqualTo("acme");
    assertThat(metadata.getWeight()).isEqualTo(3);
    assertThat(metadata.getThrottleKeysList()).containsExactlyInAnyOrder("api:acme", "all");
  }

  @Test
  void queueCreatedOverFila_retriesAtOnce_andWithoutLimit() throws Exception {
    client.create("endless");
    client.enqueue("endless", "x", Map.of());
    Stream stream = client.consume("endless");
    for (int attempts = 0; attempts < 15; attempts++) {
      Message message = stream.next();
      assertThat(message.getMetadata().getAttemptCount()).isEqualTo(attempts);
      client.nack("endless", message.getId());
    }
    client.ack("endless", stream.next().getId());
    assertThat(client.stats("endless.dlq").getDepth()).isZero();
  }

  @Test
  void onFailure_makesDeadLetters_thatKeepTheirId() throws Exception {
    client.create("fragile", "", TO_DEAD_LETTERS);
    String id = client.enqueue("fragile", "broken", Map.of("h", "v"));
    Stream stream = client.consume("fragile");
    client.nack("fragile", stream.next().getId());
    Message dead = client.consume("fragile.dlq").next();
    assertThat(dead.getId()).isEqualTo(id);
    assertThat(dead.getMetadata().getAttemptCount()).isEqualTo(1);
    assertThat(dead.getPayload().toStringUtf8()).isEqualTo("broken");
    assertThat(dead.getHeadersMap()).containsEntry("h", "v");
    assertThat(dead.getMetadata().getQueueId()).isEqualTo("fragile.dlq");
    assertRefused(() -> client.ack("fragile", id), Status.Code.NOT_FOUND, "not leased");
    client.ack("fragile.dlq", id);
    assertThat(client.stats("fragile.dlq").getDepth()).isZero();
    assertThat(stream.isEmpty()).isTrue();
  }

  @Test
  void consume_opensBeforeThereIsAMessage() throws Exception {
    client.create("idle");
    ClientCall<ConsumeRequest, ConsumeResponse> call =
        client
            .messages
            .getChannel()
            .newCall(FilaServiceGrpc.getConsumeMethod(), CallOptions.DEFAULT);
    CompletableFuture<Metadata> headers = new CompletableFuture<>();
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onHeaders(Metadata came) {
            headers.complete(came);
          }
        },
        new Metadata());
    call.sendMessage(ConsumeRequest.newBuilder().setQueue("idle").build());
    call.halfClose();
    call.request(1);
    assertThat(headers.get(20, TimeUnit.SECONDS)).isNotNull();
    call.cancel("enough", null);
  }

  @Test
  void consume_continuesWithoutAcks() throws Exception {
    client.create("hoarded");
    client.enqueue("hoarded", 200, 10);
    Stream stream = client.consume("hoarded");
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < 200; i++) {
      ids.add(stream.next().getId());
    }
    assertThat(ids).hasSize(200);
    assertThat(client.stats("hoarded").getInFlight()).isEqualTo(200);
    stream.cancel();
  }

  @Test
  void slowReader_isSentNoMoreThanItReads() throws Exception {
    client.create("large");
    int messages = 300;
    client.enqueue("large", messages, 64 << 10);
    Stream slow = client.consume("large", 1);
    await().until(() -> client.stats("large").getInFlight() >= 64);
    Stream fast = client.consume("large");
    // The slow one has 64 that wait to be sent, and what fits between it and the server.
    int others = messages - 64 - 48;
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < others; i++) {
      ids.add(fast.next().getId());
    }
    slow.request(Integer.MAX_VALUE);
    await()
        .until(
            () -> {
              addTo(ids, slow);
              addTo(ids, fast);
              return ids.size() == messages;
            });
    slow.cancel();
    fast.cancel();
  }

  private static void addTo(Set<String> ids, Stream stream) throws InterruptedException {
    while (!stream.isEmpty()) {
      assertThat(ids.add(stream.next().getId())).as("delivered once").isTrue();
    }
  }

  @Test
  void deletedQueue_endsItsStreams() throws Exception {
    client.create("doomed");
    Stream stream = client.consume("doomed");
    Stream deadLetters = client.consume("doomed.dlq");
    await().until(() -> client.stats("doomed").getActiveConsumers() == 1);
    client.admin.deleteQueue(DeleteQueueRequest.newBuilder().setQueue("doomed").build());
    assertThat(stream.end().getCode()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(deadLetters.end().getCode()).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void closingServer_endsStreams(@TempDir Path other) throws Exception {
    try (TestServer closing = TestServer.start(other)) {
      FilaClient served = new FilaClient(closing.channel);
      served.create("q");
      served.enqueue("q", "x");
      Stream stream = served.consume("q");
      stream.next();
      CompletableFuture<Void> closed = CompletableFuture.runAsync(closing.server::close);
      Status end = stream.end();
      assertThat(end.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(end.getDescription()).contains("the server is closing");
      closed.get(20, TimeUnit.SECONDS);
    }
  }
}
