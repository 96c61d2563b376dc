package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the example of docs/api/client.md; ShownCodeTest finds it here. */
final class ApiPageTest {
  @TempDir Path directory;

  @Test
  void example_works() throws Exception {
    ServerConfig config = ServerConfig.defaults(directory).withListen(ListenConfig.ANYWHERE);
    try (SluiceServer server = SluiceServer.start(config)) {
      example(server.grpcPort());
    }
  }

  private static void example(int port) {
    try (SluiceClient client = SluiceClient.connect("localhost", port)) {
      client.createQueue("mail", QueueConfig.builder().maxAttempts(5).build());
      client.enqueue("mail", Message.of("hello").withFairnessKey("acme"));
      for (Delivery delivery : client.receive("mail", 10, Duration.ofSeconds(1))) {
        delivery.ack().join();
      }
      client.setLimit("provider", Limit.perSecond(5));
      boolean granted = client.tryAcquire("provider");
      assertThat(granted).isTrue();
      assertThat(client.queue("mail").totals().acked()).isEqualTo(1);
    }
  }
}
