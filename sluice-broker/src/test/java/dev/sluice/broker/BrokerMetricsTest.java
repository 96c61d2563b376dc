package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The events that metrics receive. */
@Timeout(60)
class BrokerMetricsTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  @TempDir Path dir;

  /** Counts everything by what it is about. */
  private static final class Counts implements BrokerMetrics {
    final Map<String, Integer> counts = new ConcurrentHashMap<>();

    private void count(Object... about) {
      StringBuilder name = new StringBuilder();
      for (Object part : about) {
        name.append(name.isEmpty() ? "" : " ").append(part);
      }
      counts.merge(name.toString(), 1, Integer::sum);
    }

    @Override
    public void enqueued(String queue, String key) {
      count("enqueued", queue, key);
    }

    @Override
    public void rejected(String queue, BrokerException.Code why) {
      count("refused", queue, why);
    }

    @Override
    public void delivered(String queue, String key, int attempts) {
      count("delivered", queue, key, attempts);
    }

    @Override
    public void acked(String queue, String key, long heldNanos) {
      assertThat(heldNanos).isBetween(0L, SOON.toNanos());
      count("acked", queue, key);
    }

    @Override
    public void failed(String queue, String key, boolean expired) {
      count("failed", queue, key, expired);
    }

    @Override
    public void deadLettered(String queue, String key, DeadLetter.Reason reason) {
      count("dead", queue, key, reason);
    }

    @Override
    public void redriven(String queue) {
      count("redriven", queue);
    }

    @Override
    public void hook(String queue, Hook hook, HookOutcome outcome, long nanos) {
      assertThat(nanos).isPositive();
      count("hook", queue, hook, outcome);
    }

    @Override
    public void written(int facts, long bytes, long nanos) {
      assertThat(bytes).isPositive();
      count("written");
    }

    @Override
    public void synced(long nanos) {
      count("synced");
    }
  }

  @Test
  void everyStep_isCounted_byQueueKeyAndHook() throws Exception {
    Counts counts = new Counts();
    QueueConfig config =
        QueueConfig.builder()
            .maxDepth(2)
            .onEnqueue("function on_enqueue(msg) return { fairness_key = msg.headers.t } end")
            .onFailure("function on_failure(msg) return { action = 'dlq' } end")
            .build();
    try (Broker broker = Broker.open(dir, BrokerConfig.builder().metrics(counts).build())) {
      broker.createQueue("q", config);
      Message message = Message.of("m").withHeader("t", "acme");
      broker.enqueue("q", message).join();
      broker.enqueue("q", message).join();
      assertThatThrownBy(() -> broker.enqueue("q", message).join())
          .hasCauseInstanceOf(BrokerException.class);
      try (MessageConsumer consumer = broker.consume("q", 1)) {
        consumer.poll(1, SOON).get(0).ack().join();
        consumer.poll(1, SOON).get(0).nack("no").join();
        assertThat(broker.redrive("q.dlq", 1, true)).isEqualTo(1);
        assertThat(consumer.poll(1, SOON)).hasSize(1);
      }
      assertThat(broker.stats("q").totals()).isEqualTo(new QueueTotals(2, 3, 1, 1, 1));
      assertThat(broker.stats("q.dlq").totals()).isEqualTo(new QueueTotals(0, 0, 0, 0, 0));
    }
    assertThat(counts.counts)
        .containsEntry("enqueued q acme", 2)
        .containsEntry("refused q QUEUE_FULL", 1)
        .containsEntry("delivered q acme 0", 3)
        .containsEntry("acked q acme", 1)
        .containsEntry("failed q acme false", 1)
        .containsEntry("dead q acme SCRIPT", 1)
        .containsEntry("redriven q", 1)
        .containsEntry("hook q ENQUEUE ANSWERED", 4)
        .containsEntry("hook q FAILURE ANSWERED", 1)
        .containsKeys("written", "synced");
  }

  @Test
  void aFailingScript_isCounted_thenBypassed_andLosesNothing() throws Exception {
    Counts counts = new Counts();
    QueueConfig config =
        QueueConfig.builder().onEnqueue("function on_enqueue(msg) while true do end end").build();
    try (Broker broker = Broker.open(dir, BrokerConfig.builder().metrics(counts).build())) {
      broker.createQueue("q", config);
      broker.createQueue("other");
      for (int i = 0; i < 5; i++) {
        broker.enqueue("q", Message.of("m").withFairnessKey("mine")).join();
      }
      broker.enqueue("other", Message.of("m").withFairnessKey("mine")).join();
      assertThat(broker.stats("q").depth()).isEqualTo(5);
      assertThat(broker.stats("q").fairnessKeys().get(0).fairnessKey())
          .isEqualTo(Message.DEFAULT_FAIRNESS_KEY);
    }
    assertThat(counts.counts)
        .containsEntry("hook q ENQUEUE FAILED", 3)
        .containsEntry("hook q ENQUEUE BYPASSED", 2)
        .containsEntry("enqueued q default", 5)
        .containsEntry("enqueued other mine", 1);
  }
}
