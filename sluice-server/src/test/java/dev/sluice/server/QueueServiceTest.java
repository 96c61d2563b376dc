package dev.sluice.server;

import static dev.sluice.server.TestServer.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.BrowseMessagesRequest;
import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.DeleteQueueRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.Durability;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.GetQueueResponse;
import dev.sluice.proto.v1.ListQueuesRequest;
import dev.sluice.proto.v1.ListQueuesResponse;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.PurgeQueueRequest;
import dev.sluice.proto.v1.QueueConfig;
import dev.sluice.proto.v1.QueueStats;
import dev.sluice.proto.v1.QueueTotals;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.RedriveRequest;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.SettleResponse;
import dev.sluice.proto.v1.Settlement;
import dev.sluice.proto.v1.UpdateQueueRequest;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every unary call of {@code sluice.v1.Queues}, over a real socket. */
@Timeout(60)
final class QueueServiceTest {
  @TempDir private Path dir;
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  static EnqueueRequest messages(String queue, int count) {
    return EnqueueRequest.newBuilder()
        .setQueue(queue)
        .addAllMessages(IntStream.range(0, count).mapToObj(i -> message("m" + i).build()).toList())
        .build();
  }

  static Message.Builder message(String payload) {
    return Message.newBuilder().setPayload(ByteString.copyFromUtf8(payload));
  }

  private List<Delivery> receive(String queue, int most) {
    return server
        .queues()
        .receive(
            ReceiveRequest.newBuilder()
                .setQueue(queue)
                .setMaxMessages(most)
                .setWaitMs(5_000)
                .build())
        .getDeliveriesList();
  }

  private SettleResponse.Result settle(String queue, Settlement.Builder settlement) {
    return server
        .queues()
        .settle(SettleRequest.newBuilder().setQueue(queue).addSettlements(settlement).build())
        .getResults(0);
  }

  private static Settlement.Builder of(Delivery delivery) {
    return Settlement.newBuilder().setId(delivery.getId()).setLeaseToken(delivery.getLeaseToken());
  }

  private static Settlement.Builder ack(Delivery delivery) {
    return of(delivery).setAck(Settlement.Ack.getDefaultInstance());
  }

  private QueueStats stats(String queue) {
    return server.queues().getQueue(GetQueueRequest.newBuilder().setName(queue).build()).getStats();
  }

  private long depth(String queue) {
    return stats(queue).getDepth();
  }

  @Test
  void message_isDeliveredWithAllItsFields() {
    server.createQueue("q");
    Message message =
        message("hello")
            .putHeaders("a", "b")
            .setFairnessKey("tenant")
            .setWeight(3)
            .putThrottleKeys("mail", 1)
            .build();
    String id =
        server
            .queues()
            .enqueue(EnqueueRequest.newBuilder().setQueue("q").addMessages(message).build())
            .getIds(0);
    Delivery delivery = receive("q", 1).get(0);
    assertThat(delivery.getId()).isEqualTo(id);
    assertThat(delivery.getPayload().toStringUtf8()).isEqualTo("hello");
    assertThat(delivery.getHeadersMap()).containsEntry("a", "b");
    assertThat(delivery.getFairnessKey()).isEqualTo("tenant");
    assertThat(delivery.getWeight()).isEqualTo(3);
    assertThat(delivery.getThrottleKeysList()).containsExactly("mail");
    assertThat(delivery.getAttempts()).isZero();
    assertThat(settle("q", ack(delivery)).hasError()).isFalse();
    assertThat(depth("q")).isZero();
  }

  @Test
  void receivedMessages_stayLeased_afterTheCall() {
    server.createQueue("q");
    server.queues().enqueue(messages("q", 2));
    Delivery first = receive("q", 1).get(0);
    Delivery second = receive("q", 2).get(0);
    assertThat(second.getId()).isNotEqualTo(first.getId());
    assertThat(settle("q", ack(first)).hasError()).isFalse();
    assertThat(settle("q", ack(first)).getError().getMessage()).contains("not leased");
  }

  @Test
  void settlements_extendReleaseAndNack() {
    server.createQueue("q");
    server.queues().enqueue(messages("q", 1));
    Delivery delivery = receive("q", 1).get(0);
    Settlement.Builder extend =
        of(delivery).setExtend(Settlement.Extend.newBuilder().setLeaseTimeoutMs(60_000));
    assertThat(settle("q", extend).hasError()).isFalse();
    Settlement.Builder release = of(delivery).setRelease(Settlement.Release.getDefaultInstance());
    assertThat(settle("q", release).hasError()).isFalse();
    Delivery again = receive("q", 1).get(0);
    assertThat(again.getAttempts()).isZero();
    Settlement.Builder nack = of(again).setNack(Settlement.Nack.newBuilder().setError("no"));
    assertThat(settle("q", nack).hasError()).isFalse();
    assertThat(receive("q", 1).get(0).getAttempts()).isEqualTo(1);
  }

  @Test
  void staleLease_isRefused_andNoLeaseMeansTheCurrentOne() {
    server.createQueue("q");
    server.queues().enqueue(messages("q", 1));
    Delivery old = receive("q", 1).get(0);
    settle("q", of(old).setRelease(Settlement.Release.getDefaultInstance()));
    Delivery delivery = receive("q", 1).get(0);
    assertThat(settle("q", ack(old)).hasError()).isTrue();
    assertThat(settle("q", ack(delivery).clearLeaseToken()).hasError()).isFalse();
  }

  @Test
  void queue_isCreated_updated_listed_andDeleted() {
    QueueConfig config =
        QueueConfig.newBuilder().setLeaseTimeoutMs(5_000).setDurability(Durability.OS).build();
    server.createQueue("q", config);
    GetQueueResponse found =
        server.queues().getQueue(GetQueueRequest.newBuilder().setName("q").build());
    assertThat(found.getConfig())
        .isEqualTo(
            config.toBuilder()
                .setMaxAttempts(10)
                .setRetryDelayMs(1_000)
                .setMaxRetryDelayMs(300_000)
                .build());
    server
        .queues()
        .updateQueue(
            UpdateQueueRequest.newBuilder()
                .setName("q")
                .setConfig(config.toBuilder().setMaxDepth(1))
                .build());
    assertRefused(
        () -> server.queues().enqueue(messages("q", 2)),
        Status.Code.RESOURCE_EXHAUSTED,
        "maxDepth=1");
    ListQueuesResponse all = server.queues().listQueues(ListQueuesRequest.getDefaultInstance());
    assertThat(all.getQueuesList())
        .extracting(ListQueuesResponse.Queue::getName)
        .containsExactly("q", "q.dlq");
    server.queues().deleteQueue(DeleteQueueRequest.newBuilder().setName("q").build());
    assertRefused(() -> depth("q"), Status.Code.NOT_FOUND, "q");
  }

  @Test
  void list_whileQueuesAreDeleted_hasTheOthers() throws Exception {
    server.createQueue("stays");
    Thread deleting =
        new Thread(
            () -> {
              for (int i = 0; i < 100; i++) {
                server.createQueue("goes");
                server
                    .queues()
                    .deleteQueue(DeleteQueueRequest.newBuilder().setName("goes").build());
              }
            });
    deleting.start();
    while (deleting.isAlive()) {
      assertThat(server.queues().listQueues(ListQueuesRequest.getDefaultInstance()).getQueuesList())
          .extracting(ListQueuesResponse.Queue::getName)
          .contains("stays", "stays.dlq");
    }
    deleting.join();
  }

  @Test
  void totals_countOutcomesOfMessages() {
    server.createQueue("q", QueueConfig.newBuilder().setMaxAttempts(2).build());
    server.queues().enqueue(messages("q", 4));
    receive("q", 3).forEach(each -> settle("q", ack(each)));
    for (int attempt = 0; attempt < 2; attempt++) {
      settle("q", of(receive("q", 1).get(0)).setNack(Settlement.Nack.getDefaultInstance()));
    }
    server.queues().enqueue(messages("q", 2));
    await().until(() -> stats("q").getConsumers() == 0);
    QueueTotals totals = stats("q").getTotals();
    // A message for a call that was answered already returns, and counts as delivered.
    assertThat(totals.getDelivered()).isGreaterThanOrEqualTo(5);
    assertThat(totals.toBuilder().clearDelivered().build())
        .isEqualTo(
            QueueTotals.newBuilder()
                .setEnqueued(6)
                .setAcked(3)
                .setFailed(2)
                .setDeadLettered(1)
                .build());
    ListQueuesResponse all = server.queues().listQueues(ListQueuesRequest.getDefaultInstance());
    assertThat(all.getQueues(0).getTotals()).isEqualTo(totals);
    assertThat(all.getQueues(1).getTotals()).isEqualTo(QueueTotals.getDefaultInstance());
  }

  @Test
  void deadLetters_areBrowsed_andRedriven() {
    server.createQueue("q", QueueConfig.newBuilder().setMaxAttempts(1).build());
    server.queues().enqueue(messages("q", 1));
    Delivery delivery = receive("q", 1).get(0);
    settle("q", of(delivery).setNack(Settlement.Nack.newBuilder().setError("broken")));
    var dead =
        server
            .queues()
            .browseMessages(BrowseMessagesRequest.newBuilder().setQueue("q.dlq").build())
            .getMessages(0);
    assertThat(dead.getPayloadSize()).isEqualTo(2);
    assertThat(dead.getPayloadTruncated()).isFalse();
    BrowseMessagesRequest little =
        BrowseMessagesRequest.newBuilder()
            .setQueue("q.dlq")
            .setFrom(dead.getId())
            .setMaxPayloadBytes(1)
            .build();
    var cut = server.queues().browseMessages(little).getMessages(0);
    assertThat(cut.getPayload().toStringUtf8()).isEqualTo("m");
    assertThat(cut.getPayloadTruncated()).isTrue();
    assertThat(dead.getDeadLetter().getReason()).isEqualTo("MAX_ATTEMPTS");
    assertThat(dead.getDeadLetter().getError()).isEqualTo("broken");
    assertThat(dead.getDeadLetter().getId()).isEqualTo(delivery.getId());
    assertThat(dead.getId()).isEqualTo(delivery.getId());
    RedriveRequest redrive = RedriveRequest.newBuilder().setDeadLetterQueue("q.dlq").build();
    assertThat(server.queues().redrive(redrive).getRedriven()).isEqualTo(1);
    Delivery again = receive("q", 1).get(0);
    assertThat(again.getPayload().toStringUtf8()).isEqualTo("m0");
    assertThat(again.getId()).isEqualTo(delivery.getId());
    assertThat(again.getAttempts()).isZero();
  }

  @Test
  void purge_removesWaitingMessages() {
    server.createQueue("q");
    server.queues().enqueue(messages("q", 3));
    receive("q", 1);
    var purged = server.queues().purgeQueue(PurgeQueueRequest.newBuilder().setName("q").build());
    assertThat(purged.getPurged()).isEqualTo(2);
    assertThat(depth("q")).isEqualTo(1);
  }

  @Test
  void badInput_isRefused_withAClearMessage() {
    server.createQueue("q");
    var queues = server.queues();
    assertRefused(() -> queues.enqueue(messages("none", 1)), Status.Code.NOT_FOUND, "none");
    assertRefused(
        () -> queues.enqueue(messages("", 1)),
        Status.Code.INVALID_ARGUMENT,
        "queue must not be empty");
    assertRefused(() -> server.createQueue("q"), Status.Code.ALREADY_EXISTS, "q");
    assertRefused(
        () -> server.createQueue(".."), Status.Code.INVALID_ARGUMENT, "must not be . or ..");
    assertRefused(
        () -> server.createQueue("l", QueueConfig.newBuilder().setLeaseTimeoutMs(-1).build()),
        Status.Code.INVALID_ARGUMENT,
        "leaseTimeout");
    assertRefused(
        () -> server.createQueue("l", QueueConfig.newBuilder().setOnEnqueue("(").build()),
        Status.Code.INVALID_ARGUMENT,
        "on_enqueue");
    assertRefused(
        () -> server.createQueue("l", QueueConfig.newBuilder().setDurabilityValue(9).build()),
        Status.Code.INVALID_ARGUMENT,
        "durability");
    assertRefused(() -> receive("q", 1_001), Status.Code.INVALID_ARGUMENT, "max_messages");
    assertRefused(
        () -> queues.receive(ReceiveRequest.newBuilder().setQueue("q").setWaitMs(-1).build()),
        Status.Code.INVALID_ARGUMENT,
        "wait_ms");
    assertRefused(
        () -> settle("q", Settlement.newBuilder().setId("x")),
        Status.Code.INVALID_ARGUMENT,
        "id must be that of a message");
    assertRefused(
        () -> queues.redrive(RedriveRequest.newBuilder().setDeadLetterQueue("q").build()),
        Status.Code.INVALID_ARGUMENT,
        "dead letters");
    assertRefused(
        () -> queues.createQueue(CreateQueueRequest.getDefaultInstance()),
        Status.Code.INVALID_ARGUMENT,
        "queue must not be empty");
    assertThat(depth("q")).isZero();
  }

  @Test
  void batch_isStoredWhole_orNotAtAll() {
    server.createQueue("q");
    EnqueueRequest batch =
        messages("q", 2).toBuilder().addMessages(message("bad").setDelayMs(-1)).build();
    assertRefused(() -> server.queues().enqueue(batch), Status.Code.INVALID_ARGUMENT, "delay");
    assertThat(depth("q")).isZero();
  }

  @Test
  void everyConfirmedMessage_survivesARestart() throws IOException {
    server.createQueue("q");
    server.queues().enqueue(messages("q", 5));
    server.close();
    server = TestServer.start(dir);
    assertThat(depth("q")).isEqualTo(5);
  }
}
