package dev.sluice.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.MessageProperties;
import dev.sluice.Limit;
import dev.sluice.client.Message;
import dev.sluice.client.MessageConsumer;
import dev.sluice.client.Producer;
import dev.sluice.client.ProducerConfig;
import dev.sluice.client.QueueConfig;
import dev.sluice.client.SluiceClient;
import dev.sluice.server.ListenConfig;
import dev.sluice.server.ServerConfig;
import dev.sluice.server.SluiceServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** docs/recipes/from-rabbitmq.md: a queue a tenant, compiled; one queue for all, run. */
@Timeout(120)
final class FromRabbitMqTest {
  @TempDir Path directory;
  private final List<String> sent = Collections.synchronizedList(new ArrayList<>());

  /** The code before the change. It needs a RabbitMQ to run. */
  static final class Before {
    private Before() {}

    static void publish(Channel channel, String tenant, String mail)
        throws IOException, InterruptedException, TimeoutException {
      String queue = "mail." + tenant; // thousands of queues, most of them empty
      channel.queueDeclare(queue, true, false, false, Map.of("x-queue-type", "quorum"));
      byte[] body = mail.getBytes(StandardCharsets.UTF_8);
      channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, body);
      channel.waitForConfirmsOrDie(5_000);
    }

    static void consume(Channel channel, List<String> tenants, Mailer mailer) throws IOException {
      channel.basicQos(10);
      for (String tenant : tenants) { // and again whenever a tenant comes
        channel.basicConsume(
            "mail." + tenant,
            false,
            (tag, delivery) -> {
              mailer.send(new String(delivery.getBody(), StandardCharsets.UTF_8));
              channel.basicAck(delivery.getEnvelope().getDeliveryTag(), false);
            },
            tag -> {});
      }
    }
  }

  /** The work. */
  interface Mailer {
    void send(String mail);
  }

  @Test
  void oneQueueForAllTenants() throws Exception {
    ServerConfig config = ServerConfig.defaults(directory).withListen(ListenConfig.ANYWHERE);
    try (SluiceServer server = SluiceServer.start(config);
        SluiceClient client = SluiceClient.connect("localhost", server.grpcPort())) {
      client.createQueue("all-mail", QueueConfig.builder().maxAttempts(5).build());
      client.admin().setThrottle("provider:smtp", new Limit.Rate(100, 100));
      Producer producer = client.producer("all-mail", ProducerConfig.defaults());
      List<CompletableFuture<String>> stored = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        stored.add(publish(producer, "noisy", "newsletter"));
      }
      stored.add(publish(producer, "quiet", "password reset"));
      CompletableFuture.allOf(stored.toArray(CompletableFuture[]::new)).join();
      try (MessageConsumer mails = consume(client, sent::add)) {
        await().until(() -> client.queue("all-mail").depth() == 0);
        assertThat(mails.ended()).isNotDone();
      }
      assertThat(sent).hasSize(51);
      assertThat(sent.indexOf("password reset")).isLessThan(15);
    }
  }

  private static CompletableFuture<String> publish(Producer producer, String tenant, String mail) {
    return producer.send( // done when it is on the disk
        Message.of(mail).withFairnessKey(tenant).withThrottleKey("provider:smtp", 1));
  }

  private static MessageConsumer consume(SluiceClient client, Mailer mailer) {
    return client.consume(
        "all-mail",
        10, // unsettled, of all tenants together
        1, // thread
        message -> { // tenants take turns, also those that come later
          mailer.send(message.text());
          message.ack().join();
        });
  }
}
