package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.v1.CreateQueueRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.GetQueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueueStats;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.SettleRequest;
import dev.sluice.proto.v1.Settlement;
import dev.sluice.server.transport.MemoryBudgets;
import dev.sluice.server.transport.RequestMemoryBudget;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The objects made of a request take more memory than its bytes, and are bounded too. */
@Tag("any-jdk")
@Timeout(60)
final class RequestWorkTest {
  private static final int MAX = 1 << 20;
  private static final int MANY_MESSAGES = 1_500;
  private static final int SETTLEMENTS = 20;

  @TempDir private Path dir;
  private final RequestMemoryBudget work = new RequestMemoryBudget(MAX);
  private KeyedServer server;
  private HttpProbe http;

  @BeforeEach
  void start() throws IOException {
    MemoryBudgets usual = MemoryBudgets.ofHeap();
    MemoryBudgets memory =
        new MemoryBudgets(usual.inbound(), work, usual.unread(), usual.answers());
    server = new KeyedServer(dir, listen -> listen.withMemory(memory));
    http = new HttpProbe(server.httpPort());
    var made = queues().createQueue(CreateQueueRequest.newBuilder().setName("q").build());
    assertThat(made).isNotNull();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private QueuesGrpc.QueuesBlockingStub queues() {
    return server.queues(KeyedServer.BOOTSTRAP);
  }

  private QueueStats stats() {
    return queues().getQueue(GetQueueRequest.newBuilder().setName("q").build()).getStats();
  }

  private int post(String path, String body) {
    return http.send(
            http.request("/v1/queues/q/" + path)
                .header("Authorization", "Bearer " + KeyedServer.BOOTSTRAP)
                .POST(java.net.http.HttpRequest.BodyPublishers.ofString(body)))
        .status();
  }

  private EnqueueRequest messages(int count) {
    return EnqueueRequest.newBuilder()
        .setQueue("q")
        .addAllMessages(Collections.nCopies(count, Message.getDefaultInstance()))
        .build();
  }

  private SettleRequest nacks(List<Delivery> deliveries) {
    SettleRequest.Builder request = SettleRequest.newBuilder().setQueue("q");
    for (Delivery each : deliveries) {
      request.addSettlements(
          Settlement.newBuilder()
              .setId(each.getId())
              .setLeaseToken(each.getLeaseToken())
              .setNack(Settlement.Nack.getDefaultInstance()));
    }
    return request.build();
  }

  private static String nacksInJson(List<Delivery> deliveries) {
    return deliveries.stream()
        .map(each -> "{\"id\":\"%s\",\"action\":\"nack\"}".formatted(each.getId()))
        .collect(Collectors.joining(",", "{\"settlements\":[", "]}"));
  }

  @Test
  void settlements_withoutMemory_areRefusedAndNotExecuted() {
    assertThat(queues().enqueue(messages(SETTLEMENTS)).getIdsCount()).isEqualTo(SETTLEMENTS);
    List<Delivery> leased =
        queues()
            .receive(ReceiveRequest.newBuilder().setQueue("q").setMaxMessages(SETTLEMENTS).build())
            .getDeliveriesList();
    try (RequestMemoryBudget.Reservation others = work.part("other", "other")) {
      assertThat(others.take(MAX)).isTrue();
      assertThat(KeyedServer.codeOf(() -> queues().settle(nacks(leased))))
          .isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(post("settle", nacksInJson(leased))).isEqualTo(503);
      assertThat(stats().getInFlight()).isEqualTo(SETTLEMENTS);
      // A few are free.
      assertThat(queues().settle(nacks(leased.subList(0, 1))).getResults(0).hasError()).isFalse();
    }
    var settled = queues().settle(nacks(leased.subList(1, 11)));
    assertThat(settled.getResultsList()).noneMatch(each -> each.hasError());
    assertThat(post("settle", nacksInJson(leased.subList(11, SETTLEMENTS)))).isEqualTo(200);
    assertThat(stats().getInFlight()).isZero();
    assertThat(work.used()).isZero();
  }

  @Test
  void requestOfManyParts_withoutMemory_isRefusedAndNotStored() {
    String json =
        "{\"messages\":[%s]}"
            .formatted(String.join(",", Collections.nCopies(MANY_MESSAGES, "{\"payload\":\"\"}")));
    try (RequestMemoryBudget.Reservation others = work.part("other", "other")) {
      assertThat(others.take(MAX)).isTrue();
      assertThat(KeyedServer.codeOf(() -> queues().enqueue(messages(MANY_MESSAGES))))
          .isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(post("messages", json)).isEqualTo(503);
      assertThat(stats().getDepth()).isZero();
      assertThat(queues().enqueue(messages(1)).getIdsCount()).isOne();
    }
    assertThat(queues().enqueue(messages(MANY_MESSAGES)).getIdsCount()).isEqualTo(MANY_MESSAGES);
    assertThat(post("messages", json)).isEqualTo(200);
    assertThat(work.used()).isZero();
  }
}
