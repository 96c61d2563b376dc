package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of docs/library.md that use the broker, run; ShownCodeTest finds them here. */
class BrokerReadmeTest {
  @TempDir Path directory;
  private final List<String> sent = new ArrayList<>();

  @Test
  void aBroker() throws Exception {
    try (Broker broker = Broker.open(directory)) {
      broker.createQueue("mail");
      broker.setLimit("provider:aws", Limit.perSecond(50, 10)); // 50 a second, in bursts of 10
      Message mail =
          Message.of("hello").withFairnessKey("tenant-a").withThrottleKeys("provider:aws");
      UUID id = broker.enqueue("mail", mail).join(); // now it is on the disk

      try (MessageConsumer consumer = broker.consume("mail", 100)) { // at most 100 unsettled
        Delivery delivery = consumer.take();
        assertThat(delivery.id()).isEqualTo(id);
        send(delivery.payload());
        delivery.ack().join(); // or nack(error): tried again, in the end a dead letter in mail.dlq
      }
    }
    assertThat(sent).containsExactly("hello");
  }

  /** The example of docs/api/broker.md. */
  @Test
  void apiPage() throws Exception {
    try (Broker broker = Broker.open(directory)) {
      broker.createQueue("mail");
      broker.setLimit("provider:aws", Limit.perSecond(50));
      Message mail = Message.of("hello").withFairnessKey("acme").withThrottleKeys("provider:aws");
      broker.enqueue("mail", mail).join();

      try (MessageConsumer consumer = broker.consume("mail", 100)) {
        Delivery delivery = consumer.take();
        send(delivery.payload());
        delivery.ack().join(); // durable
      }
    }
    assertThat(sent).containsExactly("hello");
  }

  @Test
  void receivingWithoutAConsumer() {
    try (Broker broker = Broker.open(directory)) {
      broker.createQueue("jobs");
      broker.enqueue("jobs", Message.of("hello")).join();
      List<Delivery> messages = broker.receive("jobs", 10, Duration.ZERO).join();
      assertThat(messages).hasSize(1);
    }
  }

  @Test
  void scripts() throws Exception {
    try (Broker broker = Broker.open(directory)) {
      broker.setConfig("weight.acme", "7");
      broker.createQueue(
          "calls",
          QueueConfig.builder()
              .onEnqueue(
                  """
                  function on_enqueue(msg)
                    return { fairness_key = msg.headers.tenant,
                             weight = tonumber(sluice.get("weight." .. msg.headers.tenant)),
                             throttle_keys = { "provider:" .. msg.headers.provider } }
                  end
                  """)
              .onFailure(
                  """
                  function on_failure(msg)
                    if msg.attempts >= 5 then return { action = "dlq" } end
                    return { action = "retry", delay_ms = 100 * 2 ^ msg.attempts }
                  end
                  """)
              .build());
      Message call = Message.of("m").withHeader("tenant", "acme").withHeader("provider", "aws");
      broker.enqueue("calls", call).join();
      try (MessageConsumer consumer = broker.consume("calls", 1)) {
        Delivery delivery = consumer.take();
        assertThat(delivery.fairnessKey()).isEqualTo("acme");
        assertThat(delivery.weight()).isEqualTo(7);
        assertThat(delivery.throttleKeys()).containsExactly("provider:aws");
        delivery.nack("no").join();
        assertThat(broker.stats("calls").delayed()).isEqualTo(1);
        assertThat(consumer.poll(1, Duration.ofSeconds(20)).get(0).attempts()).isEqualTo(1);
      }
    }
  }

  private void send(byte[] payload) {
    sent.add(new String(payload, StandardCharsets.UTF_8));
  }
}
