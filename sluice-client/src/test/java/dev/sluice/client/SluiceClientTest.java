package dev.sluice.client;

import static dev.sluice.client.Failures.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.client.SluiceClientException.Code;
import dev.sluice.proto.v1.QueuesGrpc;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SluiceClientTest {
  @TempDir Path dir;
  private ConnectedServer at;

  @BeforeEach
  void start() throws Exception {
    at = new ConnectedServer(dir);
  }

  @AfterEach
  void stop() {
    at.close();
  }

  @Test
  void queues_createUpdateListDelete() {
    QueueConfig settings =
        QueueConfig.builder()
            .leaseTimeout(Duration.ofSeconds(7))
            .durability(QueueConfig.Durability.OS)
            .maxAttempts(4)
            .retryDelay(Duration.ofMillis(20))
            .maxRetryDelay(Duration.ofMillis(50))
            .strictOrder(true)
            .maxDepth(100)
            .maxDepthPerKey(10)
            .maxInFlightPerKey(3)
            .timeToLive(Duration.ofHours(1))
            .dedupeWindow(Duration.ofMinutes(1))
            .onEnqueue("function on_enqueue(msg) return { fairness_key = 'a' } end")
            .build();
    at.client.createQueue("q", settings);
    assertThat(at.client.queue("q").config()).isEqualTo(settings);
    assertFails(Code.ALREADY_EXISTS, () -> at.client.createQueue("q", settings)).contains("q");
    QueueConfig other =
        settings.toBuilder().leaseTimeout(Duration.ofSeconds(9)).onEnqueue("").build();
    at.client.replaceQueue("q", other);
    assertThat(at.client.queue("q").config()).isEqualTo(other);
    assertThat(at.client.queues()).extracting(QueueSummary::name).containsExactly("q", "q.dlq");
    at.client.deleteQueue("q");
    assertFails(Code.NOT_FOUND, () -> at.client.queue("q")).contains("q");
  }

  @Test
  void updateQueue_changesGivenSettings_andKeepsConcurrentChanges() {
    at.client.createQueue("q", QueueConfig.builder().maxDepth(100).strictOrder(true).build());
    QueueStatus before = at.client.queue("q");
    assertThat(before.config().maxAttempts()).hasValue(10);
    assertThat(before.config().retryDelay()).contains(Duration.ofSeconds(1));
    String revision =
        at.client.updateQueue(
            "q",
            QueueConfig.builder().maxAttempts(0).strictOrder(false).build(),
            before.revision());
    QueueStatus after = at.client.queue("q");
    assertThat(after.revision()).isEqualTo(revision).isNotEqualTo(before.revision());
    assertThat(after.config())
        .isEqualTo(before.config().toBuilder().maxAttempts(0).strictOrder(false).build());
    QueueConfig late = QueueConfig.builder().maxDepth(1).build();
    assertFails(Code.FAILED_PRECONDITION, () -> at.client.updateQueue("q", late, before.revision()))
        .contains("revision=" + revision, "expected=" + before.revision());
    assertThat(at.client.queue("q")).isEqualTo(after);
    at.client.updateQueue("q", late, "");
    assertThat(at.client.queue("q").config().maxDepth()).isEqualTo(1);
    assertThatThrownBy(() -> at.client.updateQueue("q", QueueConfig.defaults(), ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("changes must have at least one setting");
  }

  @Test
  void nack_withADelay_delaysTheMessage() {
    at.client.createQueue("q", QueueConfig.defaults());
    at.client.enqueue("q", Message.of("x"));
    at.client.receive("q", 1, Duration.ofSeconds(20)).get(0).nack("no", Duration.ofHours(1)).join();
    assertThat(at.client.queue("q").delayed()).isEqualTo(1);
  }

  @Test
  void queues_badInput_isRefusedByName() {
    assertFails(
            Code.INVALID_ARGUMENT,
            () ->
                at.client.createQueue(
                    "q", QueueConfig.builder().leaseTimeout(Duration.ofMillis(5)).build()))
        .contains("lease");
    assertFails(Code.INVALID_ARGUMENT, () -> at.client.createQueue("", QueueConfig.defaults()));
    assertFails(
        Code.INVALID_ARGUMENT,
        () -> at.client.createQueue("q", QueueConfig.builder().onEnqueue("not lua").build()));
    assertThatThrownBy(() -> at.client.browse("q", 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("maxMessages must be positive, but was 0");
    assertThatThrownBy(() -> Message.of("x").withWeight(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("weight must be positive, but was 0");
  }

  @Test
  void enqueue_browse_purge() {
    at.client.createQueue("q", QueueConfig.defaults());
    Message one = Message.of("one").withFairnessKey("k").withHeaders(Map.of("a", "b"));
    String id = at.client.enqueue("q", one.withThrottleKeys("x", "y"));
    List<String> more =
        at.client.enqueueAllAsync("q", List.of(Message.of("two"), Message.of("three"))).join();
    assertThat(more).hasSize(2).doesNotContain(id);
    assertThat(at.client.queue("q").fairnessKeys())
        .extracting(QueueStatus.FairnessKeyStats::fairnessKey)
        .containsExactlyInAnyOrder("k", "default");
    QueueTotals totals = new QueueTotals(3, 0, 0, 0, 0);
    assertThat(at.client.queue("q").totals()).isEqualTo(totals);
    assertThat(at.client.queues().get(0).totals()).isEqualTo(totals);
    StoredMessage first = at.client.browse("q", 1).get(0);
    assertThat(first.id()).isEqualTo(id);
    assertThat(first.text()).isEqualTo("one");
    assertThat(first.fairnessKey()).isEqualTo("k");
    assertThat(first.headers()).containsEntry("a", "b");
    assertThat(first.throttleKeys()).containsExactlyInAnyOrder("x", "y");
    assertThat(first.payloadSize()).isEqualTo(3);
    assertThat(first.isTruncated()).isFalse();
    assertThat(at.client.browse("q", 10)).hasSize(3);
    assertThat(at.client.purgeQueue("q")).isEqualTo(3);
    assertThat(at.client.queue("q").depth()).isZero();
  }

  @Test
  void totals_matchTheServer() {
    assertThat(
            QueueTotals.of(
                dev.sluice.proto.v1.QueueTotals.newBuilder()
                    .setEnqueued(5)
                    .setDelivered(4)
                    .setAcked(3)
                    .setFailed(2)
                    .setDeadLettered(1)
                    .build()))
        .isEqualTo(new QueueTotals(5, 4, 3, 2, 1));
  }

  @Test
  void enqueueAsync_oneInvalidMessage_storesNone() {
    at.client.createQueue("q", QueueConfig.defaults());
    assertFails(
        Code.INVALID_ARGUMENT,
        at.client.enqueueAllAsync(
            "q", List.of(Message.of("good"), Message.of("bad").withDelay(Duration.ofMillis(-1)))));
    assertThat(at.client.queue("q").depth()).isZero();
    assertFails(Code.NOT_FOUND, () -> at.client.enqueue("none", Message.of("x")));
  }

  @Test
  void redrive_movesDeadLettersBack() {
    at.client.createQueue("q", QueueConfig.builder().maxAttempts(1).build());
    at.client.enqueue("q", Message.of("x"));
    try (MessageConsumer subscription = at.client.consume("q", 256)) {
      subscription.poll(1, Duration.ofSeconds(20)).get(0).nack("no").join();
    }
    StoredMessage dead = at.client.browse("q.dlq", 1).get(0);
    assertThat(dead.deadLetter().orElseThrow().error()).isEqualTo("no");
    assertThat(at.client.redrive("q.dlq", 0, false)).isEqualTo(1);
    assertThat(at.client.queue("q").depth()).isEqualTo(1);
    assertFails(Code.INVALID_ARGUMENT, () -> at.client.redrive("q", 0, false));
  }

  @Test
  void call_withoutAServer_isUnavailable() throws Exception {
    int port;
    try (ServerSocket gone = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = gone.getLocalPort();
    }
    try (SluiceClient client = SluiceClient.connect("127.0.0.1", port)) {
      assertFails(Code.UNAVAILABLE, client::queues);
    }
  }

  @Test
  void call_noAnswer_exceedsItsDeadline() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        SluiceClient client =
            SluiceClient.builder("127.0.0.1", silent.getLocalPort())
                .callTimeout(Duration.ofMillis(100))
                .build()) {
      assertFails(Code.DEADLINE_EXCEEDED, client::queues);
      assertFails(Code.DEADLINE_EXCEEDED, () -> client.tryAcquire("k"));
    }
  }

  @Test
  void apiKey_isSentWithEveryCall_andRefusalIsPermanent() throws Exception {
    CompletableFuture<String> seen = new CompletableFuture<>();
    Server keeper = refusing(Status.UNAUTHENTICATED.withDescription("no such key"), seen);
    try (SluiceClient client =
        SluiceClient.builder("127.0.0.1", keeper.getPort()).apiKey("secret").build()) {
      assertFails(Code.UNAUTHENTICATED, client::queues).isEqualTo("no such key");
      assertThat(seen.join()).isEqualTo("Bearer secret");
      Producer producer = client.producer("q", ProducerConfig.defaults());
      assertFails(Code.UNAUTHENTICATED, producer.send(Message.of("x")));
      assertFails(Code.UNAUTHENTICATED, producer.send(Message.of("y")));
      MessageConsumer subscription = client.consume("q", 256);
      assertFails(Code.UNAUTHENTICATED, subscription.ended());
    } finally {
      keeper.shutdownNow();
    }
  }

  private static Server refusing(Status why, CompletableFuture<String> authorization)
      throws Exception {
    ServerInterceptor refusal =
        new ServerInterceptor() {
          @Override
          public <Q, A> ServerCall.Listener<Q> interceptCall(
              ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            authorization.complete(
                headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER)));
            call.close(why, new Metadata());
            return new ServerCall.Listener<>() {};
          }
        };
    ServerServiceDefinition service = new QueuesGrpc.QueuesImplBase() {}.bindService();
    return Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
        .addService(service)
        .intercept(refusal)
        .build()
        .start();
  }

  @Test
  void builder_badValues_areRefused() {
    assertThatThrownBy(() -> SluiceClient.connect("127.0.0.1", 0))
        .hasMessageContaining("port must be from 1 to 65535, but was 0");
    assertThatThrownBy(() -> SluiceClient.connect(" ", 1)).hasMessageContaining("host");
    SluiceClientBuilder builder = SluiceClient.builder("127.0.0.1", 1);
    assertThatThrownBy(() -> builder.callTimeout(Duration.ZERO)).hasMessageContaining("PT0S");
    for (String key : List.of("", " ", "top secret", "schlüssel", "ключ", "key\r\nx: y", "key\n")) {
      assertThatThrownBy(() -> builder.apiKey(key))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage(
              "API key must have 1 or more visible ASCII characters without spaces, but had %d characters",
              key.length());
    }
    assertThatThrownBy(() -> builder.maxMessageBytes(-1)).hasMessageContaining("-1");
    assertThatThrownBy(() -> builder.trust(dir.resolve("missing.pem")).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("missing.pem");
  }

  @Test
  void close_endsProducersAndSubscriptions() {
    at.client.createQueue("q", QueueConfig.defaults());
    SluiceClient client = SluiceClient.connect("127.0.0.1", at.server.grpcPort());
    Producer producer = client.producer("q", ProducerConfig.defaults());
    MessageConsumer subscription = client.consume("q", 256);
    CompletableFuture<String> sent = producer.send(Message.of("x"));
    client.close();
    client.close();
    assertThat(sent).isCompleted();
    assertThat(subscription.ended()).isCompleted();
    assertFails(Code.CLOSED, producer.send(Message.of("y")));
    assertFails(Code.UNAVAILABLE, client::queues);
  }
}
