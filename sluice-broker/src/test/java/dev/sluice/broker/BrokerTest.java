package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.broker.BrokerException.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The broker as its users see it, on its real store. */
@Timeout(60)
@SuppressWarnings("try") // consumers are closed on purpose, or work while they are open
class BrokerTest {
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Duration NOW = Duration.ofMillis(50);

  @TempDir Path dir;
  private Broker broker;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private void reopen() {
    broker.close();
    broker = Broker.open(dir);
  }

  private UUID send(String queue, String text) {
    return broker.enqueue(queue, Message.of(text)).join();
  }

  private static String text(Delivery delivery) {
    return new String(delivery.payload(), UTF_8);
  }

  private static Delivery one(MessageConsumer consumer) throws InterruptedException {
    List<Delivery> taken = consumer.poll(1, SOON);
    assertThat(taken).hasSize(1);
    return taken.get(0);
  }

  private void refused(Code code, Runnable call) {
    assertThatThrownBy(call::run)
        .satisfies(
            thrown -> {
              Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
              assertThat(cause).isInstanceOf(BrokerException.class);
              assertThat(((BrokerException) cause).code()).isEqualTo(code);
            });
  }

  @Test
  void aMessage_isDelivered_acknowledged_andRemoved() throws Exception {
    broker.createQueue("q");
    UUID id =
        broker
            .enqueue(
                "q",
                Message.of("hello")
                    .withHeader("a", "b")
                    .withFairnessKey("tenant")
                    .withWeight(3)
                    .withThrottleKeys("t"))
            .join();
    try (MessageConsumer consumer = broker.consume("q", 10)) {
      Delivery delivery = one(consumer);
      assertThat(text(delivery)).isEqualTo("hello");
      assertThat(delivery.id()).isEqualTo(id);
      assertThat(delivery.headers()).containsOnlyKeys("a").containsEntry("a", "b");
      assertThat(delivery.fairnessKey()).isEqualTo("tenant");
      assertThat(delivery.weight()).isEqualTo(3);
      assertThat(delivery.throttleKeys()).containsExactly("t");
      assertThat(delivery.attempts()).isZero();
      assertThat(delivery.deadLetter()).isEmpty();
      assertThat(broker.stats("q").inFlight()).isEqualTo(1);
      delivery.ack().join();
      refused(Code.LEASE_NOT_FOUND, () -> delivery.ack().join());
      refused(Code.LEASE_NOT_FOUND, () -> delivery.nack("late").join());
      assertThat(consumer.poll(1, NOW)).isEmpty();
    }
    assertThat(broker.stats("q").depth()).isZero();
    assertThat(broker.view().browse("q", null, 10, BrokerView.PreviewSize.ALL)).isEmpty();
  }

  @Test
  void messages_surviveARestart_inTheirOrder() throws Exception {
    broker.createQueue("q");
    for (int i = 0; i < 20; i++) {
      send("q", "m" + i);
    }
    reopen();
    try (MessageConsumer consumer = broker.consume("q", 100)) {
      List<String> got = new ArrayList<>();
      while (got.size() < 20) {
        consumer.poll(7, SOON).forEach(delivery -> got.add(text(delivery)));
      }
      assertThat(got)
          .isEqualTo(java.util.stream.IntStream.range(0, 20).mapToObj(i -> "m" + i).toList());
    }
  }

  @Test
  void aLease_outlivesARestart_andItsTokenStaysValid() throws Exception {
    broker.createQueue("q");
    send("q", "m");
    MessageConsumer consumer = broker.consume("q", 1);
    Delivery delivery = one(consumer);
    reopen();
    try (MessageConsumer other = broker.consume("q", 1)) {
      assertThat(other.poll(1, NOW)).isEmpty();
      broker.ack("q", delivery.id(), delivery.leaseToken()).join();
      assertThat(broker.stats("q").depth()).isZero();
    }
  }

  @Test
  void aClosedConsumer_returnsItsMessages_inOrder() throws Exception {
    broker.createQueue("q");
    for (int i = 0; i < 4; i++) {
      send("q", "m" + i);
    }
    MessageConsumer first = broker.consume("q", 3);
    assertThat(first.poll(3, SOON)).isNotEmpty();
    first.close();
    refused(Code.CONSUMER_CLOSED, () -> poll(first));
    try (MessageConsumer second = broker.consume("q", 10)) {
      List<String> got = new ArrayList<>();
      while (got.size() < 4) {
        for (Delivery delivery : second.poll(4, SOON)) {
          assertThat(delivery.attempts()).isZero();
          got.add(text(delivery));
        }
      }
      assertThat(got).containsExactly("m0", "m1", "m2", "m3");
    }
  }

  private static List<Delivery> poll(MessageConsumer consumer) {
    try {
      return consumer.poll(1, SOON);
    } catch (InterruptedException stopped) {
      throw new AssertionError(stopped);
    }
  }

  @Test
  void aNackedMessage_isRetried_thenDeadLettered_withReasonErrorAndAttempts_andRedriven()
      throws Exception {
    broker.createQueue("q", QueueConfig.builder().maxAttempts(2).build());
    UUID id = send("q", "m");
    try (MessageConsumer consumer = broker.consume("q", 1);
        MessageConsumer graveyard = broker.consume("q.dlq", 1)) {
      one(consumer).nack("first").join();
      Delivery again = one(consumer);
      assertThat(again.attempts()).isEqualTo(1);
      assertThat(again.id()).isEqualTo(id);
      again.nack("second").join();
      Delivery dead = one(graveyard);
      assertThat(dead.deadLetter())
          .contains(new DeadLetter("q", id, DeadLetter.Reason.MAX_ATTEMPTS, 2, "second"));
      assertThat(text(dead)).isEqualTo("m");
      dead.release().join();
      graveyard.close();
      assertThat(broker.redrive("q.dlq", 0, false)).isEqualTo(1);
      Delivery redriven = one(consumer);
      assertThat(redriven.attempts()).isZero();
      assertThat(redriven.deadLetter()).isEmpty();
      redriven.ack().join();
    }
    assertThat(broker.stats("q.dlq").depth()).isZero();
  }

  @Test
  void anExpiredLease_isAFailure_andRunsTheScript() throws Exception {
    String script =
        """
        function on_failure(msg)
          if msg.error == "lease expired" then return { action = "dlq" } end
          return { action = "retry" }
        end
        """;
    broker.createQueue(
        "q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(1)).onFailure(script).build());
    send("q", "m");
    try (MessageConsumer consumer = broker.consume("q", 1);
        MessageConsumer graveyard = broker.consume("q.dlq", 1)) {
      Delivery stalled = one(consumer);
      Delivery dead = one(graveyard);
      assertThat(dead.deadLetter().orElseThrow().reason()).isEqualTo(DeadLetter.Reason.SCRIPT);
      assertThat(dead.deadLetter().orElseThrow().error()).isEqualTo("lease expired");
      refused(Code.LEASE_NOT_FOUND, () -> stalled.ack().join());
    }
  }

  @Test
  void aRetry_waitsForTheDelayOfTheScript() throws Exception {
    String script = "function on_failure(msg) return { action='retry', delay_ms=300 } end";
    broker.createQueue("q", QueueConfig.builder().onFailure(script).build());
    send("q", "m");
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      one(consumer).nack("no").join();
      long from = System.nanoTime();
      assertThat(broker.stats("q").delayed()).isEqualTo(1);
      assertThat(one(consumer).attempts()).isEqualTo(1);
      assertThat(System.nanoTime() - from).isGreaterThan(200_000_000);
    }
  }

  @Test
  void extend_keepsAMessage_beyondItsTimeout() throws Exception {
    broker.createQueue("q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(1)).build());
    send("q", "m");
    try (MessageConsumer consumer = broker.consume("q", 5)) {
      Delivery delivery = one(consumer);
      delivery.extend(Duration.ofSeconds(30)).join();
      assertThat(consumer.poll(1, Duration.ofMillis(1_500))).isEmpty();
      delivery.ack().join();
    }
  }

  @Test
  void aDelayedMessage_waits_andAnExpiredOne_isDeadLettered() throws Exception {
    broker.createQueue("q");
    broker.enqueue("q", Message.of("late").withDelay(Duration.ofMillis(300))).join();
    broker.enqueue("q", Message.of("old").withTimeToLive(Duration.ofMillis(1))).join();
    try (MessageConsumer graveyard = broker.consume("q.dlq", 1)) {
      assertThat(one(graveyard).deadLetter().orElseThrow().reason())
          .isEqualTo(DeadLetter.Reason.TIME_TO_LIVE);
    }
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      assertThat(text(one(consumer))).isEqualTo("late");
    }
  }

  @Test
  void aSecondMessageOfTheSameDedupeId_isNotStored() throws Exception {
    broker.createQueue("q", QueueConfig.builder().dedupeWindow(Duration.ofMinutes(1)).build());
    Message message = Message.of("m").withDedupeId("x");
    UUID first = broker.enqueue("q", message).join();
    assertThat(broker.enqueue("q", message).join()).isEqualTo(first);
    assertThat(broker.enqueueAll("q", List.of(message, message)).join()).containsOnly(first);
    reopen();
    assertThat(broker.enqueue("q", message).join()).isEqualTo(first);
    assertThat(broker.stats("q").depth()).isEqualTo(1);
  }

  @Test
  void fullQueues_refuse_wholeBatches() {
    broker.createQueue("q", QueueConfig.builder().maxDepth(3).maxDepthPerKey(2).build());
    send("q", "1");
    List<Message> two = List.of(Message.of("2"), Message.of("3"));
    refused(Code.QUEUE_FULL, () -> broker.enqueueAll("q", two).join());
    assertThat(broker.stats("q").depth()).isEqualTo(1);
    broker
        .enqueueAll("q", List.of(Message.of("2"), Message.of("3").withFairnessKey("other")))
        .join();
    refused(
        Code.QUEUE_FULL,
        () -> broker.enqueue("q", Message.of("4").withFairnessKey("other")).join());
  }

  @Test
  void queues_areCreated_changed_listed_purged_andDeletedWithTheirMessages() throws Exception {
    broker.createQueue("q");
    refused(Code.QUEUE_EXISTS, () -> broker.createQueue("q"));
    refused(Code.QUEUE_NOT_FOUND, () -> broker.deleteQueue("nobody"));
    refused(Code.QUEUE_NOT_FOUND, () -> send("nobody", "m"));
    refused(Code.QUEUE_NOT_FOUND, () -> broker.consume("nobody", 1));
    refused(Code.QUEUE_NOT_FOUND, () -> broker.stats("nobody"));
    refused(
        Code.QUEUE_NOT_FOUND,
        () -> broker.view().browse("nobody", null, 1, BrokerView.PreviewSize.ALL));
    refused(
        Code.INVALID_HOOK,
        () -> broker.createQueue("r", QueueConfig.builder().onEnqueue("x x").build()));
    assertThat(broker.queues()).containsOnlyKeys("q", "q.dlq");
    QueueConfig config = QueueConfig.builder().maxDepth(5_000).build();
    broker.updateQueue("q", before -> config, null);
    List<Message> many = java.util.Collections.nCopies(2_500, Message.of("m"));
    broker.enqueueAll("q", many).join();
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      one(consumer);
      assertThat(broker.purgeQueue("q")).isEqualTo(2_499);
      assertThat(broker.stats("q").depth()).isEqualTo(1);
      broker.enqueueAll("q", many).join();
      broker.deleteQueue("q");
      refused(Code.QUEUE_DELETED, () -> poll(consumer));
    }
    assertThat(broker.queues()).isEmpty();
    broker.createQueue("q", config);
    assertThat(broker.view().browse("q", null, 10, BrokerView.PreviewSize.ALL)).isEmpty();
    reopen();
    assertThat(broker.queues().get("q")).isEqualTo(config);
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void scripts_assignKeys_andReadTheConfiguration() throws Exception {
    broker.setConfig("weight.gold", "5");
    broker.createQueue(
        "q",
        QueueConfig.builder()
            .onEnqueue(
                """
                function on_enqueue(msg)
                  local tier = msg.headers.tier
                  return { fairness_key = msg.headers.tenant,
                           weight = tonumber(sluice.get("weight." .. tier)),
                           throttle_keys = { "provider:x", "tenant:" .. msg.headers.tenant } }
                end
                """)
            .build());
    broker
        .enqueue("q", Message.of("m").withHeader("tenant", "acme").withHeader("tier", "gold"))
        .join();
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      Delivery delivery = one(consumer);
      assertThat(delivery.fairnessKey()).isEqualTo("acme");
      assertThat(delivery.weight()).isEqualTo(5);
      assertThat(delivery.throttleKeys()).containsExactly("provider:x", "tenant:acme");
    }
  }

  @Test
  void aHandler_isCalled_oneCallAtATime_andASlowOneDelaysNoOtherConsumer() throws Exception {
    broker.createQueue("q");
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch blocked = new CountDownLatch(1);
    List<String> got = new CopyOnWriteArrayList<>();
    CountDownLatch all = new CountDownLatch(50);
    try (MessageConsumer slow =
            broker.consume(
                "q",
                1,
                deliveries -> {
                  blocked.countDown();
                  await(release);
                });
        MessageConsumer fast =
            broker.consume(
                "q",
                10,
                deliveries -> {
                  broker.ackAll(deliveries).join();
                  deliveries.forEach(delivery -> got.add(text(delivery)));
                  deliveries.forEach(delivery -> all.countDown());
                })) {
      for (int i = 0; i < 51; i++) {
        send("q", "m" + i);
      }
      assertThat(blocked.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(all.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(broker.stats("q").depth()).isEqualTo(1);
      release.countDown();
    }
    assertThat(got).hasSize(50).doesNotHaveDuplicates();
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void badInput_namesTheRule_andChangesNothing() {
    broker.createQueue("q");
    assertThatIllegalArgumentException().isThrownBy(() -> broker.createQueue(""));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.createQueue("a b"))
        .withMessageContaining(", but was \"a b\"");
    assertThatIllegalArgumentException().isThrownBy(() -> broker.consume("q", 0));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.view().browse("q", null, 0, BrokerView.PreviewSize.ALL));
    assertThatIllegalArgumentException().isThrownBy(() -> Message.of("m").withFairnessKey(""));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Message.of("m").withWeight(0))
        .withMessage("weight must be from 1 to 1000000, but was 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Message.of("m").withFairnessKey("k".repeat(257)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.setLimit("t", Limit.ofRate(Double.NaN, 1)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.setConfig("throttle.t", "fast"))
        .withMessage("a limit must be \"<tokens per second>,<burst>\", but was \"fast\"");
    assertThatIllegalArgumentException().isThrownBy(() -> broker.setConfig("throttle.", "1,1"));
    assertThatIllegalArgumentException().isThrownBy(() -> broker.setConfig("k", "v".repeat(1_025)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.enqueue("q", Message.of(new byte[17 << 20])))
        .withMessageStartingWith("bytes of message must be from 0 to 16777216");
    refused(Code.NOT_A_DEAD_LETTER_QUEUE, () -> broker.redrive("q", 0, false));
    refused(Code.LEASE_NOT_FOUND, () -> broker.ack("q", UUID.randomUUID(), null).join());
    assertThat(broker.view().limitStats().limits()).isEmpty();
    assertThat(broker.config()).isEmpty();
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void aClosedBroker_failsEveryCallWithStopped() throws Exception {
    broker.createQueue("q");
    MessageConsumer consumer = broker.consume("q", 1);
    broker.close();
    broker.close();
    refused(Code.STOPPED, () -> send("q", "m"));
    refused(Code.STOPPED, () -> broker.createQueue("r"));
    refused(Code.STOPPED, () -> broker.stats("q"));
    refused(Code.STOPPED, () -> poll(consumer));
    consumer.close();
  }

  @Test
  void aCallbackThatBlocksOnTheBroker_failsAtOnce() {
    broker.createQueue("q");
    assertThatThrownBy(() -> AnswerThreads.callback(broker, "q", () -> broker.stats("q")))
        .hasMessageContaining("must not block on the broker");
    assertThat(broker.stats("q").depth()).isPositive();
    AnswerThreads.callback(
        broker,
        "q",
        () -> {
          broker.close();
          return "closed";
        });
    refused(Code.STOPPED, () -> broker.stats("q"));
  }

  @Test
  void aDirectoryInUse_isRefused() {
    assertThatThrownBy(() -> Broker.open(dir))
        .isInstanceOf(BrokerException.class)
        .satisfies(
            thrown -> assertThat(((BrokerException) thrown).code()).isEqualTo(Code.STORE_FAILED));
  }
}
