package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.LimitStats;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
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
    broker.enqueueAll("q", Collections.nCopies(messages, message)).join();
  }

  /** When each of so many messages was let go; they are acknowledged. */
  private List<Instant> receive(MessageConsumer consumer, int messages)
      throws InterruptedException {
    List<Instant> times = new ArrayList<>();
    while (times.size() < messages) {
      List<Delivery> taken = consumer.poll(100, SOON);
      assertThat(taken).as("after %d messages", times.size()).isNotEmpty();
      taken.forEach(delivery -> times.add(delivery.leaseEndsAt().minus(LEASE)));
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
    broker.setLimit("provider:aws", Limit.ofRate(100, 5));
    broker.setLimit("tenant:acme", Limit.ofRate(50, 2));
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      send(60, "acme", "aws");
      send(60, "other", "aws");
      List<Instant> all = receive(consumer, 120);
      holds(all, 100, 5);
    }
  }

  @Test
  void theStricterOfTwoKeys_applies() throws Exception {
    broker.setLimit("provider:aws", Limit.ofRate(1_000, 100));
    broker.setLimit("tenant:acme", Limit.ofRate(50, 2));
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      send(40, "acme", "aws");
      holds(receive(consumer, 40), 50, 2);
    }
  }

  @Test
  void aThrottledTenant_delaysNoOther() throws Exception {
    broker.setLimit("tenant:slow", Limit.ofRate(0, 1));
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      send(10, "slow", "aws");
      send(50, "free", "aws");
      assertThat(receive(consumer, 51)).hasSize(51);
      assertThat(consumer.poll(1, NOW)).isEmpty();
      assertThat(broker.stats("q").depth()).isEqualTo(9);
    }
  }

  @Test
  void aRate_isChangedAndRemoved_whileMessagesWait() throws Exception {
    broker.setLimit("provider:aws", Limit.ofRate(0, 1));
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      send(1_000, "acme", "aws");
      assertThat(receive(consumer, 1)).hasSize(1);
      assertThat(consumer.poll(1, NOW)).isEmpty();
      broker.setLimit("provider:aws", Limit.ofRate(1_000, 1));
      assertThat(receive(consumer, 5)).isNotEmpty();
      broker.setLimit("provider:aws", Limit.ofRate(0, 0));
      while (!consumer.poll(100, NOW).isEmpty()) {
        // takes the messages delivered before the change
      }
      assertThat(broker.stats("q").depth()).isPositive();
      broker.removeLimit("provider:aws");
      assertThat(consumer.poll(100, SOON)).isNotEmpty();
      assertThat(broker.view().limitStats().limits()).isEmpty();
    }
  }

  @Test
  void tokens_areTakenForDeliveriesOnly() throws Exception {
    broker.setLimit("provider:aws", Limit.ofRate(0, 5));
    send(3, "acme", "aws");
    assertThat(consumed()).isZero();
    try (MessageConsumer consumer = broker.consume("q", 2)) {
      assertThat(consumer.poll(1, SOON)).hasSize(1);
      await().atMost(SOON).until(() -> consumed() == 2);
    }
    // The second message never left the broker.
    await().atMost(SOON).until(() -> consumed() == 1);
    assertThat(broker.purgeQueue("q")).isEqualTo(3);
    assertThat(consumed()).isEqualTo(1);
  }

  @Test
  void releasedMessage_returnsItsTokens_andANackedOneDoesNot() {
    broker.setLimit("provider:aws", Limit.ofRate(0, 5));
    broker.setLimit("tenant:acme", Limit.ofRate(0, 5));
    send(3, "acme", "aws");
    List<Delivery> received = broker.receive("q", 2, Duration.ZERO).join();
    assertThat(received).hasSize(2);
    assertThat(levels()).containsExactly(3.0, 3.0);
    received.get(0).release().join();
    assertThat(levels()).containsExactly(4.0, 4.0);
    received.get(1).nack("no").join();
    assertThat(levels()).containsExactly(4.0, 4.0);
  }

  @Test
  void afterARestart_aReleaseReturnsNoTokens() {
    broker.setLimit("provider:aws", Limit.ofRate(0.0001, 5));
    send(3, "acme", "aws");
    Delivery received = broker.receive("q", 1, Duration.ZERO).join().get(0);
    broker.close();
    broker = Broker.open(dir);
    broker.release("q", received.id(), received.leaseToken()).join();
    assertThat(levels().get(0)).isBetween(3.9, 4.1);
  }

  private List<Double> levels() {
    return broker.view().limitStats().limits().stream().map(LimitStats::level).toList();
  }

  /** Fifty tokens, four callers and other traffic: fifty messages in all. */
  @Test
  void receiveWithoutWaiting_underLoad_getsEveryMessageThatCanBeDelivered() throws Exception {
    broker.setLimit("provider:aws", Limit.ofRate(0, 50));
    broker.createQueue("other");
    send(200, "acme", "aws");
    AtomicInteger got = new AtomicInteger();
    AtomicInteger empty = new AtomicInteger();
    ExecutorService callers = Executors.newFixedThreadPool(5);
    try (MessageConsumer consumer = broker.consume("other", 100)) {
      AtomicBoolean over = new AtomicBoolean();
      Future<?> load = callers.submit(() -> load(consumer, over));
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        all.add(callers.submit(() -> poll(got, empty)));
      }
      for (Future<?> each : all) {
        each.get();
      }
      over.set(true);
      load.get();
    } finally {
      callers.shutdownNow();
    }
    assertThat(got).hasValue(50);
    // Each caller stops at the first empty answer: none came while a message could be delivered.
    assertThat(empty).hasValue(4);
    assertThat(levels()).containsExactly(0.0);
  }

  private void poll(AtomicInteger got, AtomicInteger empty) {
    for (; ; ) {
      int size = broker.receive("q", 2, Duration.ZERO).join().size();
      got.addAndGet(size);
      if (size == 0) {
        empty.incrementAndGet();
        return;
      }
    }
  }

  private void load(MessageConsumer consumer, AtomicBoolean over) {
    try {
      while (!over.get()) {
        broker.enqueueAll("other", Collections.nCopies(50, Message.of("m"))).join();
        broker.ackAll(consumer.poll(100, SOON)).join();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void canceledReceive_takesNoMessagesAndNoTokens() {
    broker.setLimit("provider:aws", Limit.ofRate(0, 5));
    CompletableFuture<List<Delivery>> waiting = broker.receive("q", 2, Duration.ofSeconds(30));
    waiting.cancel(false);
    send(3, "acme", "aws");
    // There is no room for the answer.
    CompletableFuture<List<Delivery>> failing =
        broker.receive(
            "q",
            2,
            Duration.ZERO,
            bytes -> {
              throw new IllegalStateException("no room for " + bytes);
            });
    assertThat(failing).failsWithin(SOON);
    // There is room for one message.
    assertThat(broker.receive("q", 3, Duration.ZERO, bytes -> 1).join()).hasSize(1);
    await().atMost(SOON).until(() -> levels().get(0) == 4);
    assertThat(broker.stats("q").inFlight()).isEqualTo(1);
    assertThat(broker.receive("q", 3, Duration.ZERO).join()).hasSize(2);
  }

  @Test
  void receiveThatWaits_isAnsweredByTheFirstMessage_orWhenItsTimeIsOver() {
    assertThat(broker.receive("q", 2, Duration.ofMillis(1)).join()).isEmpty();
    CompletableFuture<List<Delivery>> waiting = broker.receive("q", 2, Duration.ofDays(1));
    send(1, "acme", "aws");
    assertThat(waiting.join()).hasSize(1);
    assertThat(broker.stats("q").consumers()).isZero();
    CompletableFuture<List<Delivery>> doomed = broker.receive("q", 2, Duration.ofDays(1));
    broker.deleteQueue("q");
    assertThat(doomed).failsWithin(SOON).withThrowableThat().withMessageContaining("deleted");
  }

  private double consumed() {
    return 5 - broker.view().limitStats().limits().get(0).level();
  }

  @Test
  void aRestart_givesNoFreshBurst() throws Exception {
    broker.setLimit("provider:aws", Limit.ofRate(0.001, 10));
    send(30, "acme", "aws");
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      receive(consumer, 10);
    }
    broker.close();
    broker = Broker.open(dir);
    assertThat(broker.view().limitStats().limits().get(0).level()).isLessThan(1);
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      assertThat(consumer.poll(1, NOW)).isEmpty();
    }
    assertThat(broker.config("throttle.provider:aws")).contains("0.001,10.0");
  }

  @Test
  void queues_shareAThrottleKey() throws Exception {
    broker.createQueue("r");
    broker.setLimit("provider:aws", Limit.ofRate(0, 4));
    send(10, "acme", "aws");
    for (int i = 0; i < 10; i++) {
      broker.enqueue("r", Message.of("m").withThrottleKeys("provider:aws")).join();
    }
    try (MessageConsumer one = broker.consume("q", 100);
        MessageConsumer two = broker.consume("r", 100)) {
      int got = 0;
      for (int i = 0; i < 10 && got < 4; i++) {
        got += one.poll(10, NOW).size() + two.poll(10, NOW).size();
      }
      assertThat(got).isEqualTo(4);
      assertThat(one.poll(1, NOW)).isEmpty();
      assertThat(two.poll(1, NOW)).isEmpty();
    }
  }

  @Test
  void balancedLimit_isStoredAsTokensPerSecond_roundedDown() {
    broker.setLimit("third", Limit.per(1, Duration.ofSeconds(3)));
    broker.setLimit("half", new Limit.Balanced(5, 1, Duration.ofSeconds(2)));
    broker.setLimit("none", Limit.denyAll());
    assertThat(broker.config("throttle.third")).contains("0.333333333333333,1.0");
    assertThat(broker.config("throttle.half")).contains("0.5,5.0");
    assertThat(broker.config("throttle.none")).contains("0.0,0.0");
  }

  @Test
  void limitsThatDoNotRefillEvenly_areRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.setLimit("t", Limit.manual(1)))
        .withMessageContaining("must be Rate, Balanced or DenyAll");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.setLimit("t", Limit.strict(1, Duration.ofSeconds(1))));
    assertThat(broker.config()).isEmpty();
  }
}
