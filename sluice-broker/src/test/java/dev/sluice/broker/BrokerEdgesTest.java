package dev.sluice.broker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.sluice.FairnessKeyStats;
import dev.sluice.Limit;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.store.MessageId;
import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Awkward moments and inputs; each of these once went wrong. */
@Tag("any-jdk")
@Timeout(60)
class BrokerEdgesTest {
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final Duration NOW = Duration.ofMillis(100);

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

  private void send(String queue, int messages) {
    for (int i = 0; i < messages; i++) {
      broker.enqueue(queue, Message.of("m" + i)).join();
    }
  }

  private static Delivery one(MessageConsumer consumer) throws InterruptedException {
    List<Delivery> taken = consumer.poll(1, SOON);
    assertThat(taken).hasSize(1);
    return taken.get(0);
  }

  private List<String> receive(String queue, int messages) throws InterruptedException {
    List<String> got = new ArrayList<>();
    try (MessageConsumer consumer = broker.consume(queue, 100)) {
      while (got.size() < messages) {
        List<Delivery> taken = consumer.poll(100, SOON);
        assertThat(taken).as("after %s", got).isNotEmpty();
        taken.forEach(delivery -> got.add(new String(delivery.payload(), UTF_8)));
        assertThat(broker.ackAll(taken).join()).isEmpty();
      }
    }
    return got;
  }

  @Test
  void emptyFairnessKeyOfAScript_becomesTheDefaultKey() {
    String script =
        "function on_enqueue(msg) return { fairness_key = msg.headers.t, throttle_keys = {''} }"
            + " end";
    broker.createQueue("q", QueueConfig.builder().onEnqueue(script).build());
    broker.enqueue("q", Message.of("m").withHeader("t", "")).join();
    assertThat(broker.stats("q").fairnessKeys())
        .extracting(FairnessKeyStats::fairnessKey)
        .containsExactly("default");
  }

  @Test
  void nullIdsAndUnpairedSurrogates_areRefused() {
    broker.createQueue("q");
    assertThatNullPointerException().isThrownBy(() -> broker.ack("q", null, null));
    assertThatNullPointerException().isThrownBy(() -> broker.nack("q", null, null, "no", null));
    assertThatNullPointerException().isThrownBy(() -> broker.release("q", null, null));
    assertThatNullPointerException().isThrownBy(() -> broker.extend("q", null, null, SOON));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Message.of("m").withFairnessKey("a\uD800"));
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void aScriptThatFailsWhenTheBrokerOpens_isBypassed() throws Exception {
    String good = "function on_enqueue(msg) return { fairness_key = 'script' } end";
    broker.createQueue("q", QueueConfig.builder().onEnqueue(good).build());
    int id = MessageId.queueId(broker.enqueue("q", Message.of("before")).join());
    broker.close();
    QueueConfig broken = QueueConfig.builder().onEnqueue("error('not today')").build();
    try (RocksStore store = RocksStore.open(dir)) {
      RowBatch rows = new RowBatch();
      rows.put(StoreTable.CONFIG, Schema.queueKey(id), Schema.queueRow("q", broken, 1));
      store.write(rows);
    }
    broker = Broker.open(dir);
    broker.enqueue("q", Message.of("after").withFairnessKey("mine")).join();
    assertThat(broker.stats("q").fairnessKeys())
        .extracting(FairnessKeyStats::fairnessKey)
        .containsExactly("default", "script");
    broker.updateQueue("q", before -> QueueConfig.defaults(), null);
    assertThat(receive("q", 2)).containsExactlyInAnyOrder("before", "after");
  }

  @Test
  void manyLargeMessages_canBeDeadLetteredAndRedriven() {
    broker.createQueue("q");
    Message large = Message.of(new byte[3 << 20]).withTimeToLive(Duration.ofSeconds(1));
    for (int i = 0; i < 15; i++) {
      broker.enqueue("q", large).join();
    }
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(() -> assertThat(broker.stats("q.dlq").depth()).isEqualTo(15));
    assertThat(broker.redrive("q.dlq", 0, false)).isEqualTo(15);
    assertThat(broker.stats("q").depth()).isEqualTo(15);
  }

  @Test
  void batchBeyondTheBytesBound_isRefused() {
    broker.createQueue("q");
    List<Message> tooMany = Collections.nCopies(5, Message.of(new byte[15 << 20]));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.enqueueAll("q", tooMany))
        .withMessageStartingWith("bytes of messages must be from 0 to 67108864");
    assertThat(broker.enqueueAll("q", List.of()).join()).isEmpty();
  }

  @Test
  void redrive_terminates_thoughItsMessagesAreDeadLetteredAgain() throws Exception {
    String script = "function on_failure(msg) return { action = 'dlq' } end";
    broker.createQueue("q", QueueConfig.builder().onFailure(script).build());
    send("q", 50);
    try (MessageConsumer consumer =
        broker.consume("q", 50, taken -> taken.forEach(each -> each.nack("no").join()))) {
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(broker.stats("q.dlq").depth()).isEqualTo(50));
      assertThat(broker.redrive("q.dlq", 0, true)).isEqualTo(50);
      assertThat(consumer.queue()).isEqualTo("q");
    }
  }

  @Test
  void afterARestart_releasedMessagesKeepTheirPlace_andSlotsStayTaken() throws Exception {
    broker.createQueue("q", QueueConfig.builder().maxInFlightPerKey(1).build());
    send("q", 3);
    UUID id;
    LeaseToken token;
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      Delivery first = one(consumer);
      id = first.id();
      token = first.leaseToken();
      broker.close();
    }
    broker = Broker.open(dir);
    try (MessageConsumer consumer = broker.consume("q", 10)) {
      assertThat(consumer.poll(1, NOW)).isEmpty();
      broker.release("q", id, token).join();
      assertThat(one(consumer).id()).isEqualTo(id);
    }
    assertThat(receive("q", 3)).containsExactly("m0", "m1", "m2");
  }

  @Test
  void afterARestart_aKeyKeepsItsWeight() throws Exception {
    broker.createQueue("q");
    broker.enqueue("q", Message.of("m").withFairnessKey("k").withWeight(2)).join();
    broker.enqueue("q", Message.of("m").withFairnessKey("k").withWeight(9).withDelay(SOON)).join();
    reopen();
    assertThat(broker.stats("q").fairnessKeys().get(0).weight()).isEqualTo(9);
  }

  @Test
  void undeliveredPrefetch_countsNoAttempt_whenTheBrokerCloses() throws Exception {
    QueueConfig config =
        QueueConfig.builder().maxAttempts(1).leaseTimeout(Duration.ofSeconds(1)).build();
    broker.createQueue("q", config);
    send("q", 5);
    try (MessageConsumer consumer = broker.consume("q", 5)) {
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(broker.stats("q").inFlight()).isEqualTo(5));
      broker.close();
      assertThat(consumer.queue()).isEqualTo("q");
    }
    broker = Broker.open(dir);
    assertThat(receive("q", 5)).containsExactly("m0", "m1", "m2", "m3", "m4");
  }

  @Test
  void aStalledConsumer_holdsAtMostItsPrefetch_andRecovers() throws Exception {
    broker.createQueue("q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(1)).build());
    send("q", 20);
    try (MessageConsumer consumer = broker.consume("q", 3)) {
      // Its leases end unseen; others are not given to it until it takes its mail.
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(broker.stats("q").inFlight()).isZero());
      for (int i = 0; i < 20; i++) {
        one(consumer).ack().join();
      }
    }
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void messagesReadFromTheDisk_haveTheirPayloads_inOrder() throws Exception {
    broker.createQueue("q");
    broker.createQueue("other");
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      broker.enqueue(i % 5 == 0 ? "other" : "q", Message.of("m" + i)).join();
      if (i % 5 != 0) {
        expected.add("m" + i);
      }
    }
    reopen();
    try (MessageConsumer consumer = broker.consume("q", 400)) {
      List<Delivery> all = new ArrayList<>();
      while (all.size() < 320) {
        all.addAll(consumer.poll(150, SOON));
      }
      assertThat(all.stream().map(each -> new String(each.payload(), UTF_8)).toList())
          .isEqualTo(expected);
      // Some are acknowledged in the middle; the others are returned and read again.
      for (int i = 0; i < 320; i += 3) {
        all.get(i).ack().join();
        expected.remove("m" + new String(all.get(i).payload(), UTF_8).substring(1));
      }
    }
    assertThat(receive("q", expected.size())).isEqualTo(expected);
  }

  @Test
  void brokerTime_keepsItsOffsetToTheSystemClock_overRestarts() {
    broker.createQueue("q");
    Set<Long> distances = new HashSet<>();
    for (int i = 0; i < 3; i++) {
      send("q", 1);
      broker.close();
      try (RocksStore store = RocksStore.open(dir)) {
        CommitBatch.Meta meta = Schema.metaRow(store.get(StoreTable.META, Schema.META_KEY));
        distances.add(meta.brokerTime() - meta.bootNanos());
      }
      broker = Broker.open(dir);
    }
    assertThat(distances).hasSize(1);
  }

  @Test
  void aDetachedConsumer_keepsLeasesOfReceivedMessages() throws InterruptedException {
    broker.createQueue("q");
    send("q", 3);
    MessageConsumer consumer = broker.consume("q", 3);
    Delivery seen = one(consumer);
    consumer.detach();
    assertThat(broker.stats("q").consumers()).isZero();
    assertThat(receive("q", 2)).containsExactly("m1", "m2");
    assertThat(broker.stats("q").inFlight()).isEqualTo(1);
    assertThat(broker.ackAll("q", Map.of(seen.id(), seen.leaseToken())).join()).isEmpty();
    assertThat(broker.ackAll("q", Map.of(seen.id(), seen.leaseToken())).join())
        .containsExactly(seen.id());
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void drainedConsumer_settlesItsDeliveries_andReceivesNoMore() throws InterruptedException {
    broker.createQueue("q");
    broker.setLimit("t", Limit.ofRate(0, 10));
    broker.enqueueAll("q", Collections.nCopies(5, Message.of("m").withThrottleKeys("t"))).join();
    try (MessageConsumer consumer = broker.consume("q", 3)) {
      Delivery acked = one(consumer);
      Delivery released = one(consumer);
      consumer.drain().join();
      consumer.drain().join();
      assertThat(broker.stats("q").inFlight()).isEqualTo(2);
      assertThat(broker.view().limitStats().limits().get(0).level()).isEqualTo(8);
      acked.ack().join();
      released.release().join();
      assertThat(broker.view().limitStats().limits().get(0).level()).isEqualTo(9);
      assertThat(broker.stats("q").inFlight()).isZero();
      assertThat(consumer.poll(1, Duration.ZERO)).isEmpty();
    }
    assertThat(receive("q", 4)).hasSize(4);
  }

  @Test
  void aHandler_isNotified_ofQueueDeletionAndBrokerClose_butNotOfItsOwnClose() {
    Map<String, BrokerException> told = new ConcurrentHashMap<>();
    for (String queue : List.of("deleted", "closed", "left")) {
      broker.createQueue(queue);
    }
    broker.consume("deleted", 1, new Told("deleted", told));
    broker.consume("closed", 1, new Told("closed", told));
    broker.consume("left", 1, new Told("left", told)).close();
    broker.deleteQueue("deleted");
    Awaitility.await().atMost(SOON).until(() -> told.containsKey("deleted"));
    broker.close();
    Awaitility.await().atMost(SOON).until(() -> told.containsKey("closed"));
    assertThat(told.get("deleted").code()).isEqualTo(Code.QUEUE_DELETED);
    assertThat(told.get("closed").code()).isEqualTo(Code.STOPPED);
    assertThat(told).hasSize(2);
  }

  /** Notes its end. */
  private record Told(String name, Map<String, BrokerException> ends)
      implements MessageConsumer.Handler {
    @Override
    public void handle(List<Delivery> deliveries) {
      throw new AssertionError(deliveries);
    }

    @Override
    public void ended(BrokerException why) {
      ends.put(name, why);
    }
  }

  @Test
  void aSlowHandler_isCalledAgain_thoughLeasesOfItsPrefetchExpired() {
    broker.createQueue("q", QueueConfig.builder().leaseTimeout(Duration.ofSeconds(1)).build());
    CountDownLatch expired = new CountDownLatch(1);
    Queue<Future<?>> acks = new ConcurrentLinkedQueue<>();
    try (MessageConsumer consumer =
        broker.consume(
            "q",
            3,
            taken -> {
              await(expired);
              // Refused where the lease has ended.
              taken.stream().map(Delivery::ack).forEach(acks::add);
            })) {
      send("q", 10);
      // One call has some of them; what came after waits in its mail until the leases end.
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(broker.stats("q").inFlight()).isZero());
      expired.countDown();
      Awaitility.await()
          .atMost(SOON)
          .untilAsserted(() -> assertThat(broker.stats("q").depth()).isZero());
      assertThat(consumer.queue()).isEqualTo("q");
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void closedConsumers_holdNoMessages() throws Exception {
    broker.createQueue("q");
    for (int i = 0; i < 200; i++) {
      broker.consume("q", 10).close();
    }
    assertThat(broker.stats("q").consumers()).isZero();
    send("q", 1);
    assertThat(receive("q", 1)).containsExactly("m0");
  }

  @Test
  void dotNames_areRefused() {
    for (String dots : List.of(".", "..")) {
      for (String queue : List.of(dots, dots + ".dlq")) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> broker.createQueue(queue))
            .withMessage(
                "queue name must not be . or .., which vanish from paths of URLs, but was \"%s\"",
                dots);
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> broker.setLimit(dots, Limit.ofRate(1, 1)))
          .withMessageContaining("throttle key must not be . or ..")
          .withMessageEndingWith("\"%s\"", dots);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> broker.setConfig(dots, "x"))
          .withMessageContaining("key must not be . or ..");
    }
    broker.createQueue("...");
    broker.setLimit(".a", Limit.ofRate(1, 1));
  }

  @Test
  void storedDotNames_areReadAndCanBeDeleted() {
    broker.close();
    try (Store store = RocksStore.open(dir)) {
      RowBatch rows = new RowBatch();
      rows.put(
          StoreTable.CONFIG, Schema.queueKey(1), Schema.queueRow(".", QueueConfig.defaults(), 1));
      rows.put(StoreTable.CONFIG, Schema.configKey("throttle..."), Schema.utf8("1,1"));
      store.write(rows);
    }
    broker = Broker.open(dir);
    send(".", 1);
    assertThat(broker.stats(".").depth()).isEqualTo(1);
    assertThat(broker.view().limitStats().limits())
        .extracting(each -> each.name())
        .containsExactly("..");
    broker.deleteQueue(".");
    broker.removeLimit("..");
    assertThat(broker.queues()).isEmpty();
    assertThat(broker.view().limitStats().limits()).isEmpty();
  }
}
