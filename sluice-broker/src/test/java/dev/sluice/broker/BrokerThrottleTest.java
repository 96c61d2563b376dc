package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Rates of throttle keys, from the script that names them to the consumer who gets the messages.
 */
@Tag("any-jdk")
@Timeout(60)
class BrokerThrottleTest {
  private static final Duration LEASE = Duration.ofSeconds(30);
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Duration NOW = Duration.ofMillis(100);

  private static final String TWO_KEYS =
      """
      function on_enqueue(msg)
        return { fairness_key = msg.headers.tenant,
                 throttle_keys = { "provider:" .. msg.headers.provider,
                                   "tenant:" .. msg.headers.tenant } }
      end
      """;

  @TempDir Path dir;
  private Broker broker;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
    broker.createQueue("q", QueueConfig.builder().leaseTimeout(LEASE).onEnqueue(TWO_KEYS).build());
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private void send(int messages, String tenant, String provider) {
    Message message = Message.of("m").withHeader("tenant", tenant).withHeader("provider", provider);
    broker.enqueueAll("q", java.util.Collections.nCopies(messages, message)).join();
  }

  /** When each of so many messages was let go; they are acknowledged. */
  private List<Instant> receive(Consumer consumer, int messages) throws InterruptedException {
    List<Instant> times = new ArrayList<>();
    while (times.size() < messages) {
      List<Delivery> taken = consumer.poll(100, SOON);
      assertThat(taken).as("after %d messages", times.size()).isNotEmpty();
      taken.forEach(delivery -> times.add(delivery.leaseEnds().minus(LEASE)));
      assertThat(broker.ackAll(taken).join()).isEmpty();
    }
    return times;
  }

  private static void holds(List<Instant> times, double perSecond, double burst) {
    for (int from = 0; from < times.size(); from++) {
      for (int to = from; to < times.size(); to++) {
        double seconds = Duration.between(times.get(from), times.get(to)).toNanos() / 1e9;
        assertThat(to - from + 1.0)
            .as("messages in %f s", seconds)
            .isLessThanOrEqualTo(burst + perSecond * seconds + 1e-6);
      }
    }
  }

  @Test
  void twoKeysOfAScript_ratesByCommand_holdInEveryWindow() throws Exception {
    broker.setThrottle("provider:aws", 100, 5);
    broker.setThrottle("tenant:acme", 50, 2);
    try (Consumer consumer = broker.consume("q", 100)) {
      send(60, "acme", "aws");
      send(60, "other", "aws");
      List<Instant> all = receive(consumer, 120);
      holds(all, 100, 5);
    }
  }

  @Test
  void theStricterOfTwoKeys_decides() throws Exception {
    broker.setThrottle("provider:aws", 1_000, 100);
    broker.setThrottle("tenant:acme", 50, 2);
    try (Consumer consumer = broker.consume("q", 100)) {
      send(40, "acme", "aws");
      holds(receive(consumer, 40), 50, 2);
    }
  }

  @Test
  void aThrottledTenant_holdsUpNoOther() throws Exception {
    broker.setThrottle("tenant:slow", 0, 1);
    try (Consumer consumer = broker.consume("q", 100)) {
      send(10, "slow", "aws");
      send(50, "free", "aws");
      assertThat(receive(consumer, 51)).hasSize(51);
      assertThat(consumer.poll(1, NOW)).isEmpty();
      assertThat(broker.stats("q").depth()).isEqualTo(9);
    }
  }

  @Test
  void aRate_isChangedAndRemoved_whileMessagesWait() throws Exception {
    broker.setThrottle("provider:aws", 0, 1);
    try (Consumer consumer = broker.consume("q", 100)) {
      send(30, "acme", "aws");
      assertThat(receive(consumer, 1)).hasSize(1);
      assertThat(consumer.poll(1, NOW)).isEmpty();
      broker.setThrottle("provider:aws", 1_000, 1);
      assertThat(receive(consumer, 5)).isNotEmpty();
      broker.setThrottle("provider:aws", 0, 0);
      while (!consumer.poll(100, NOW).isEmpty()) {
        // what had gone before
      }
      assertThat(broker.stats("q").depth()).isPositive();
      broker.removeThrottle("provider:aws");
      assertThat(consumer.poll(100, SOON)).isNotEmpty();
      assertThat(broker.throttles()).isEmpty();
    }
  }

  @Test
  void tokens_areTakenForDeliveriesOnly() throws Exception {
    broker.setThrottle("provider:aws", 0, 5);
    send(3, "acme", "aws");
    assertThat(consumed()).isZero();
    try (Consumer consumer = broker.consume("q", 2)) {
      assertThat(consumer.poll(1, SOON)).hasSizeBetween(1, 2);
      assertThat(consumed()).isEqualTo(2);
    }
    assertThat(broker.purge("q")).isEqualTo(3);
    assertThat(consumed()).isEqualTo(2);
  }

  private double consumed() {
    return 5 - broker.throttles().get(0).level();
  }

  @Test
  void aRestart_givesNoFreshBurst() throws Exception {
    broker.setThrottle("provider:aws", 0.001, 10);
    send(30, "acme", "aws");
    try (Consumer consumer = broker.consume("q", 100)) {
      receive(consumer, 10);
    }
    broker.close();
    broker = Broker.open(dir);
    assertThat(broker.throttles().get(0).level()).isLessThan(1);
    try (Consumer consumer = broker.consume("q", 100)) {
      assertThat(consumer.poll(1, NOW)).isEmpty();
    }
    assertThat(broker.config("throttle.provider:aws")).contains("0.001,10.0");
  }

  @Test
  void queues_shareAThrottleKey() throws Exception {
    broker.createQueue("r");
    broker.setThrottle("provider:aws", 0, 4);
    send(10, "acme", "aws");
    for (int i = 0; i < 10; i++) {
      broker.enqueue("r", Message.of("m").withThrottles("provider:aws")).join();
    }
    try (Consumer one = broker.consume("q", 100);
        Consumer two = broker.consume("r", 100)) {
      int got = 0;
      for (int i = 0; i < 10 && got < 4; i++) {
        got += one.poll(10, NOW).size() + two.poll(10, NOW).size();
      }
      assertThat(got).isEqualTo(4);
      assertThat(one.poll(1, NOW)).isEmpty();
      assertThat(two.poll(1, NOW)).isEmpty();
    }
  }
}
