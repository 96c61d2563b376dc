package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.ConsumeRequest;
import dev.sluice.proto.v1.ConsumeResponse;
import dev.sluice.proto.v1.DeleteQueueRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.EnqueueStreamRequest;
import dev.sluice.proto.v1.EnqueueStreamResponse;
import dev.sluice.proto.v1.ErrorCode;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueueStats;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.Settlement;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The streams of {@code sluice.v1.Queues}, over a real socket. */
@Timeout(60)
final class ConsumeStreamTest {
  private static final byte[] LARGE = new byte[100_000];
  private static final int MORE_THREADS = 8;

  /** Both ends of it; about half as much was seen. */
  private static final long MAX_BYTES_OF_AN_IDLE_ONE = 10_000;

  @TempDir private Path dir;
  private TestServer server;

  @BeforeEach
  void start() throws IOException {
    server = TestServer.start(dir);
    server.createQueue("q");
  }

  @AfterEach
  void stop() {
    server.close();
  }

  /** A consumer at the other end. */
  private final class Client {
    final Recorded<ConsumeResponse> answers = new Recorded<>();
    final StreamObserver<ConsumeRequest> requests =
        QueuesGrpc.newStub(server.channel).consume(answers);

    Client open(String queue, int prefetch, int credit) throws InterruptedException {
      requests.onNext(
          ConsumeRequest.newBuilder()
              .setOpen(
                  ConsumeRequest.Open.newBuilder()
                      .setQueue(queue)
                      .setPrefetch(prefetch)
                      .setCredit(credit))
              .build());
      assertThat(answers.next().hasOpened()).isTrue();
      return this;
    }

    List<Delivery> take(int count) throws InterruptedException {
      List<Delivery> taken = new ArrayList<>();
      while (taken.size() < count) {
        taken.addAll(answers.next().getDeliveries().getDeliveriesList());
      }
      return taken;
    }

    void ack(long batch, List<Delivery> deliveries) {
      var settlements = ConsumeRequest.Settlements.newBuilder().setBatch(batch);
      deliveries.forEach(
          each ->
              settlements.addSettlements(
                  Settlement.newBuilder()
                      .setId(each.getId())
                      .setLeaseToken(each.getLeaseToken())
                      .setAck(Settlement.Ack.getDefaultInstance())));
      requests.onNext(ConsumeRequest.newBuilder().setSettle(settlements).build());
    }

    void vanish() {
      ((ClientCallStreamObserver<ConsumeRequest>) requests).cancel("gone", null);
    }
  }

  private QueueStats stats() {
    return server.queues().getQueue(GetQueueRequest.newBuilder().setName("q").build()).getStats();
  }

  private void enqueue(int count) {
    server.queues().enqueue(QueueServiceTest.messages("q", count));
  }

  @Test
  void drain_endsDeliveries_keepsSettlementsOpen_andIsAnsweredBeforeTheStreamEnds()
      throws Exception {
    enqueue(10);
    Client client = new Client().open("q", 4, 0);
    List<Delivery> taken = client.take(4);
    ConsumeRequest drain =
        ConsumeRequest.newBuilder().setDrain(ConsumeRequest.Drain.getDefaultInstance()).build();
    client.requests.onNext(drain);
    assertThat(client.answers.next().hasDrained()).isTrue();
    client.ack(1, taken);
    assertThat(client.answers.next().getSettled().getFailuresList()).isEmpty();
    assertThat(stats().getDepth()).isEqualTo(6);
    assertThat(stats().getInFlight()).isZero();
    client.requests.onNext(drain);
    client.requests.onCompleted();
    assertThat(client.answers.next().hasDrained()).isTrue();
    assertThat(client.answers.end().isOk()).isTrue();
  }

  @Test
  void prefetch_boundsUnsettledDeliveries_andAcksAllowMore() throws Exception {
    enqueue(10);
    Client client = new Client().open("q", 4, 0);
    List<Delivery> first = client.take(4);
    assertThat(stats().getInFlight()).isEqualTo(4);
    client.ack(7, first);
    List<Delivery> second = new ArrayList<>();
    boolean settled = false;
    while (!settled || second.size() < 4) {
      ConsumeResponse next = client.answers.next();
      if (next.hasSettled()) {
        assertThat(next.getSettled().getBatch()).isEqualTo(7);
        assertThat(next.getSettled().getFailuresList()).isEmpty();
        settled = true;
      } else {
        second.addAll(next.getDeliveries().getDeliveriesList());
      }
    }
    assertThat(second).hasSize(4);
    assertThat(stats().getDepth()).isEqualTo(6);
  }

  @Test
  void withoutPrefetch_creditBoundsDeliveries() throws Exception {
    enqueue(10);
    Client client = new Client().open("q", 0, 2);
    assertThat(client.take(2)).hasSize(2);
    client.requests.onNext(
        ConsumeRequest.newBuilder()
            .setCredit(ConsumeRequest.Credit.newBuilder().setMessages(3))
            .build());
    assertThat(client.take(3)).hasSize(3);
    assertThat(stats().getInFlight()).isEqualTo(5);
    assertThat(client.answers.isEmpty()).isTrue();
  }

  @Test
  void disconnectedClient_returnsItsMessages_inOrder() throws Exception {
    enqueue(3);
    Client client = new Client().open("q", 3, 0);
    client.take(3);
    client.vanish();
    await().until(() -> stats().getInFlight() == 0);
    List<Delivery> again = new Client().open("q", 3, 0).take(3);
    assertThat(again)
        .extracting(each -> each.getPayload().toStringUtf8())
        .containsExactly("m0", "m1", "m2");
    assertThat(again).allMatch(each -> each.getAttempts() == 0);
  }

  @Test
  void clientThatCompletes_getsItsAnswersFirst() throws Exception {
    enqueue(2);
    Client client = new Client().open("q", 2, 0);
    List<Delivery> taken = client.take(2);
    client.ack(1, taken);
    client.requests.onCompleted();
    assertThat(client.answers.next().getSettled().getBatch()).isEqualTo(1);
    assertThat(client.answers.end().isOk()).isTrue();
    assertThat(stats().getDepth()).isZero();
  }

  @Test
  void unknownLease_isReportedByItsIndex() throws Exception {
    enqueue(2);
    Client client = new Client().open("q", 2, 0);
    List<Delivery> taken = client.take(2);
    Delivery stale = taken.get(1).toBuilder().setLeaseToken("99.1").build();
    client.ack(1, List.of(taken.get(0), stale));
    ConsumeResponse.Settled settled = client.answers.next().getSettled();
    assertThat(settled.getFailuresList()).hasSize(1);
    assertThat(settled.getFailures(0).getIndex()).isEqualTo(1);
    assertThat(settled.getFailures(0).getError().getCode()).isEqualTo(ErrorCode.NOT_FOUND);
  }

  /** Reads nothing after the answer to open. */
  private static final class Unread
      implements ClientResponseObserver<ConsumeRequest, ConsumeResponse> {
    @Override
    public void beforeStart(ClientCallStreamObserver<ConsumeRequest> requests) {
      requests.disableAutoRequestWithInitial(1);
    }

    @Override
    public void onNext(ConsumeResponse response) {}

    @Override
    public void onError(Throwable why) {}

    @Override
    public void onCompleted() {}
  }

  @Test
  void clientThatDoesNotRead_delaysNoOther_andItsMessagesAreRedelivered() throws Exception {
    Message large = Message.newBuilder().setPayload(ByteString.copyFrom(LARGE)).build();
    EnqueueRequest batch =
        EnqueueRequest.newBuilder()
            .setQueue("q")
            .addAllMessages(Collections.nCopies(20, large))
            .build();
    var requests =
        (ClientCallStreamObserver<ConsumeRequest>)
            QueuesGrpc.newStub(server.channel).consume(new Unread());
    requests.onNext(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(60))
            .build());
    for (int i = 0; i < 5; i++) {
      server.queues().enqueue(batch);
    }
    await().until(() -> stats().getInFlight() == 60);
    assertThat(new Client().open("q", 40, 0).take(40)).hasSize(40);
    requests.cancel("gone", null);
    Client other = new Client().open("q", 60, 0);
    assertThat(other.take(60)).hasSize(60);
  }

  @Test
  void deletedQueue_endsTheStream() throws Exception {
    Client client = new Client().open("q", 1, 0);
    server.queues().deleteQueue(DeleteQueueRequest.newBuilder().setName("q").build());
    Status end = client.answers.end();
    assertThat(end.getCode()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(end.getDescription()).contains("deleted");
  }

  @Test
  void requestsOutOfOrder_endTheStream() throws Exception {
    Client early = new Client();
    early.ack(1, List.of());
    assertThat(early.answers.end().getDescription()).contains("open must come first");
    Client twice = new Client().open("q", 1, 0);
    twice.requests.onNext(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q").setPrefetch(1))
            .build());
    assertThat(twice.answers.end().getDescription()).contains("open must come once");
    Client nowhere = new Client();
    nowhere.requests.onNext(
        ConsumeRequest.newBuilder()
            .setOpen(ConsumeRequest.Open.newBuilder().setQueue("none").setPrefetch(1))
            .build());
    assertThat(nowhere.answers.end().getCode()).isEqualTo(Status.Code.NOT_FOUND);
  }

  @Test
  void batchesOfOneStream_areAnsweredInOrder_includingRefusedOnes() throws Exception {
    Recorded<EnqueueStreamResponse> answers = new Recorded<>();
    StreamObserver<EnqueueStreamRequest> requests =
        QueuesGrpc.newStub(server.channel).enqueueStream(answers);
    for (int i = 0; i < 200; i++) {
      requests.onNext(
          EnqueueStreamRequest.newBuilder()
              .setBatch(i)
              .setQueue(i % 10 == 3 ? "none" : "q")
              .addMessages(QueueServiceTest.message("m" + i))
              .build());
    }
    requests.onCompleted();
    for (int i = 0; i < 200; i++) {
      EnqueueStreamResponse answer = answers.next();
      assertThat(answer.getBatch()).isEqualTo(i);
      assertThat(answer.hasError()).isEqualTo(i % 10 == 3);
    }
    assertThat(answers.end().isOk()).isTrue();
    assertThat(stats().getDepth()).isEqualTo(180);
  }

  @Test
  void thousandIdleConsumers_delayNoOther() throws Exception {
    enqueue(1);
    assertThat(new Client().open("q", 1, 0).take(1)).hasSize(1);
    long threadsBefore = serverThreads();
    long heapBefore = usedHeap();
    List<Client> idle = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      Client client = new Client();
      client.requests.onNext(
          ConsumeRequest.newBuilder()
              .setOpen(ConsumeRequest.Open.newBuilder().setQueue("q.dlq").setPrefetch(10))
              .build());
      idle.add(client);
    }
    for (Client client : idle) {
      assertThat(client.answers.next().hasOpened()).isTrue();
    }
    assertThat(serverThreads()).isLessThanOrEqualTo(threadsBefore + MORE_THREADS);
    assertThat((usedHeap() - heapBefore) / 1_000).isLessThan(MAX_BYTES_OF_AN_IDLE_ONE);
    enqueue(1);
    assertThat(new Client().open("q", 1, 0).take(1)).hasSize(1);
  }

  /** All but those of the client, which makes one for each answer that waits. */
  private static long serverThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(each -> !each.getName().startsWith("grpc-default-executor"))
        .count();
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
