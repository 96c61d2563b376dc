package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Messages that name a throttle key without a rate: counted, and refused by a strict queue. */
@Timeout(60)
class StrictThrottleKeysTest {
  private static final Message MISSPELLED = Message.of("m").withThrottleKeys("provider", "provide");
  private static final Message CORRECT = Message.of("m").withThrottleKeys("provider");

  @TempDir Path dir;
  private final AtomicInteger passed = new AtomicInteger();
  private Broker broker;

  @BeforeEach
  void open() {
    BrokerMetrics metrics =
        new BrokerMetrics() {
          @Override
          public void unknownThrottleKey(String queue) {
            passed.incrementAndGet();
          }
        };
    broker = Broker.open(dir, BrokerConfig.builder().metrics(metrics).build());
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private static QueueConfig.Builder strict() {
    return QueueConfig.builder().strictThrottleKeys(true);
  }

  @Test
  void queueThatIsNotStrict_storesAndCountsUnknownKeys() {
    broker.createQueue("q", QueueConfig.defaults());
    broker.setLimit("provider", Limit.ofRate(100, 100));
    broker.enqueueAll("q", List.of(MISSPELLED, CORRECT, MISSPELLED)).join();
    QueueStats stats = broker.stats("q");
    assertThat(stats.depth()).isEqualTo(3);
    assertThat(stats.unknownThrottleKeys()).isEqualTo(2);
    assertThat(stats.lastUnknownThrottleKey()).isEqualTo("provide");
    assertThat(passed).hasValue(2);
  }

  @Test
  void strictQueue_refusesTheWholeCall() {
    broker.createQueue("q", strict().build());
    broker.setLimit("provider", Limit.ofRate(100, 100));
    broker.enqueue("q", CORRECT).join();
    assertThatThrownBy(() -> broker.enqueueAll("q", List.of(CORRECT, MISSPELLED)).join())
        .isInstanceOf(CompletionException.class)
        .cause()
        .hasMessage(
            "throttle key must have a limit in a queue with strict throttle keys:"
                + " queue=q, throttleKey=provide")
        .extracting(failure -> ((BrokerException) failure).code())
        .isEqualTo(BrokerException.Code.UNKNOWN_THROTTLE_KEY);
    assertThat(broker.stats("q").depth()).isEqualTo(1);
    assertThat(broker.stats("q").unknownThrottleKeys()).isEqualTo(1);
    assertThat(passed).hasValue(0);
  }

  @Test
  void keysOfAScript_passAStrictQueue() {
    String script = "function on_enqueue(msg) return { throttle_keys = { 'provide' } } end";
    broker.createQueue("q", strict().onEnqueue(script).build());
    broker.enqueue("q", Message.of("m")).join();
    assertThat(broker.stats("q").depth()).isEqualTo(1);
    assertThat(broker.stats("q").unknownThrottleKeys()).isEqualTo(1);
    assertThat(passed).hasValue(1);
  }

  /** Also after a restart, which keeps the setting. */
  @Test
  void messagesOfAKeyThatLosesItsRate_areDelivered() throws Exception {
    broker.createQueue("q", strict().build());
    broker.setLimit("provider", Limit.ofRate(0, 0));
    broker.enqueueAll("q", List.of(CORRECT, CORRECT)).join();
    broker.removeLimit("provider");
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      broker.ackAll(consumer.poll(1, Duration.ofSeconds(30))).join();
    }
    broker.close();
    open();
    try (MessageConsumer consumer = broker.consume("q", 10)) {
      assertThat(consumer.poll(10, Duration.ofSeconds(30))).isNotEmpty();
    }
    assertThatThrownBy(() -> broker.enqueue("q", CORRECT).join())
        .hasMessageContaining("throttleKey=provider");
  }

  @Test
  void duplicateOfAStoredMessage_isNotRefused() {
    broker.createQueue("q", strict().dedupeWindow(Duration.ofHours(1)).build());
    broker.setLimit("provider", Limit.ofRate(1, 1));
    Message named = CORRECT.withDedupeId("once");
    Object first = broker.enqueue("q", named).join();
    broker.removeLimit("provider");
    assertThat((Object) broker.enqueue("q", named).join()).isEqualTo(first);
  }
}
