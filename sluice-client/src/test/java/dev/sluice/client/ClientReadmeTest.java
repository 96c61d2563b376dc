package dev.sluice.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/library.md that uses the client, run; ShownCodeTest finds it here. */
class ClientReadmeTest {
  @TempDir Path directory;
  private final List<String> sent = new CopyOnWriteArrayList<>();

  @Test
  void aClient() throws Exception {
    ServerConfig config = ServerConfig.defaults(directory).withListen(ListenConfig.ANYWHERE);
    try (SluiceServer server = SluiceServer.start(config)) {
      aClient(server.grpcPort());
    }
    assertThat(sent).containsExactly("hello");
  }

  private void aClient(int port) {
    try (SluiceClient client = SluiceClient.connect("localhost", port)) {
      client.createQueue("mail", QueueConfig.defaults());
      Producer producer =
          client.producer(
              "mail", ProducerConfig.defaults()); // sends in batches, reconnects, sends again
      CompletableFuture<String> id = producer.send(Message.of("hello").withFairnessKey("tenant-a"));

      MessageConsumer mail =
          client.consume(
              "mail",
              100,
              4,
              message -> { // 100 unsettled, 4 threads
                send(message.text());
                message.ack().join(); // an exception instead: tried again, in the end a dead letter
              });

      client.setLimit("provider", new Limit.Rate(5, 10)); // 5 a second, in bursts of 10
      boolean go = client.tryAcquire("provider");
      assertThat(go).isTrue();
      assertThat(id.join()).isNotEmpty();
      await().until(() -> client.queue("mail").depth() == 0);
      assertThat(mail.ended()).isNotDone();
    }
  }

  private void send(String text) {
    sent.add(text);
  }
}
