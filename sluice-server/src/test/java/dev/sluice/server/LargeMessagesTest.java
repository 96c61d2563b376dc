package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.BrowseMessagesRequest;
import dev.sluice.proto.v1.Delivery;
import dev.sluice.proto.v1.EnqueueRequest;
import dev.sluice.proto.v1.Message;
import dev.sluice.proto.v1.QueuesGrpc;
import dev.sluice.proto.v1.ReceiveRequest;
import dev.sluice.proto.v1.StoredMessage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One answer has so many bytes of messages and no more. */
final class LargeMessagesTest {
  private static final int BYTES = 7 << 20;

  private static TestServer server;
  private static HttpProbe http;

  @BeforeAll
  static void start(@TempDir Path dir) throws IOException {
    server = TestServer.start(dir);
    http = new HttpProbe(server.server.httpPort());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  private static List<String> fill(String queue) {
    server.createQueue(queue);
    Message message = Message.newBuilder().setPayload(ByteString.copyFrom(new byte[BYTES])).build();
    EnqueueRequest three =
        EnqueueRequest.newBuilder()
            .setQueue(queue)
            .addAllMessages(List.of(message, message, message))
            .build();
    return server.queues().enqueue(three).getIdsList();
  }

  private static QueuesGrpc.QueuesBlockingStub patient() {
    return server.queues().withMaxInboundMessageSize(32 << 20);
  }

  private static List<Delivery> receive(String queue) {
    ReceiveRequest all =
        ReceiveRequest.newBuilder().setQueue(queue).setMaxMessages(3).setWaitMs(10_000).build();
    return patient().receive(all).getDeliveriesList();
  }

  @Test
  void receive_leavesMessagesBeyondItsBytesInOrder() {
    List<String> ids = fill("received");
    assertThat(receive("received"))
        .extracting(Delivery::getId)
        .containsExactlyElementsOf(ids.subList(0, 2));
    assertThat(receive("received"))
        .singleElement()
        .satisfies(
            last -> {
              assertThat(last.getId()).isEqualTo(ids.get(2));
              assertThat(last.getAttempts()).isZero();
            });
  }

  private static int received(String request) {
    return http.post("/v1/queues/over-http/receive", request).json().get("deliveries").size();
  }

  @Test
  void receive_overHttp_leavesMessagesBeyondItsBytes() {
    fill("over-http");
    String three = "{\"max_messages\":3,\"wait_ms\":10000}";
    assertThat(received(three)).isEqualTo(2);
    assertThat(received(three)).isEqualTo(1);
  }

  @Test
  void browse_isBoundedByBytes() {
    List<String> ids = fill("peeked");
    BrowseMessagesRequest all =
        BrowseMessagesRequest.newBuilder().setQueue("peeked").setMaxMessages(3).build();
    assertThat(patient().browseMessages(all).getMessagesList())
        .extracting(StoredMessage::getId)
        .containsExactlyElementsOf(ids.subList(0, 2));
    assertThat(http.get("/v1/queues/peeked/browse?max_messages=3").json().get("messages").size())
        .isEqualTo(2);
  }
}
