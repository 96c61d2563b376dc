package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.client.Delivery;
import dev.sluice.client.Message;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.SluiceClient;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import dev.sluice.server.fila.v1.AckRequest;
import dev.sluice.server.fila.v1.ConsumeRequest;
import dev.sluice.server.fila.v1.ConsumeResponse;
import dev.sluice.server.fila.v1.EnqueueRequest;
import dev.sluice.server.fila.v1.FilaServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** docs/recipes/from-fila.md: fila's protocol first, as it is; then Sluice's own. */
@Timeout(120)
final class FromFilaTest {
  private static final String SCRIPT =
      """
      function on_enqueue(msg)
        return { fairness_key = msg.headers.tenant, throttle_keys = { "provider:sendgrid" } }
      end
      """;

  @TempDir Path directory;
  private final List<String> sent = new ArrayList<>();
  private SluiceServer server;

  @BeforeEach
  void start() throws Exception {
    server = SluiceServer.start(ServerConfig.defaults(directory).withListen(ListenConfig.ANYWHERE));
    try (SluiceClient client = SluiceClient.connect("localhost", server.grpcPort())) {
      client.createQueue("receipts", QueueConfig.builder().onEnqueue(SCRIPT).build());
      client.createQueue("letters", QueueConfig.defaults());
    }
  }

  @AfterEach
  void stop() {
    server.close();
  }

  @Test
  void filaClient_worksUnchanged() {
    ManagedChannel channel =
        ManagedChannelBuilder.forAddress("localhost", server.grpcPort()).usePlaintext().build();
    try {
      before(FilaServiceGrpc.newBlockingStub(channel));
    } finally {
      channel.shutdownNow();
    }
    assertThat(sent).containsExactly("acme: hello");
  }

  private void before(FilaServiceGrpc.FilaServiceBlockingStub fila) {
    fila.enqueue(
        EnqueueRequest.newBuilder()
            .setQueue("receipts")
            .putHeaders("tenant", "acme") // on_enqueue of the queue makes a fairness key of it
            .setPayload(ByteString.copyFromUtf8("hello"))
            .build());

    Iterator<ConsumeResponse> stream =
        fila.consume(ConsumeRequest.newBuilder().setQueue("receipts").build());
    var message = stream.next().getMessage();
    send(message.getMetadata().getFairnessKey(), message.getPayload().toStringUtf8());
    fila.ack(AckRequest.newBuilder().setQueue("receipts").setMessageId(message.getId()).build());
  }

  @Test
  void sluiceClient_replacesTheFilaClient() {
    try (SluiceClient client = SluiceClient.connect("localhost", server.grpcPort())) {
      after(client);
      assertThat(client.queue("letters").depth()).isZero();
    }
    assertThat(sent).containsExactly("acme: hello");
  }

  private void after(SluiceClient client) {
    client.enqueue(
        "letters",
        Message.of("hello")
            .withFairnessKey("acme") // no hook needed; a hook would override it
            .withThrottleKey("provider:sendgrid", 1)
            .withDedupeId("order-7"));

    for (Delivery message : client.receive("letters", 10, Duration.ofSeconds(5))) {
      send(message.fairnessKey(), message.text());
      message.ack().join(); // by its lease: never another delivery
    }
  }

  private void send(String tenant, String mail) {
    sent.add(tenant + ": " + mail);
  }
}
