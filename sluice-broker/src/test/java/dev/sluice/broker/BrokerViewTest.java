package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.ManualClock;
import dev.sluice.broker.FairnessKeyPage.Order;
import dev.sluice.broker.internal.accounting.FairnessKeyTable;
import dev.sluice.broker.internal.runtime.FairnessKeyScan;
import dev.sluice.broker.internal.runtime.LocalBroker;
import dev.sluice.broker.internal.runtime.QueryCache;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Statistics and stored messages as a view returns them. */
@Timeout(60)
class BrokerViewTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  @TempDir Path dir;
  private Broker broker;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
    broker.createQueue("q");
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private void send(int messages, Message message) {
    broker.enqueueAll("q", IntStream.range(0, messages).mapToObj(i -> message).toList()).join();
  }

  private static Message of(String key) {
    return Message.of("m").withFairnessKey(key);
  }

  private FairnessKeyPage keys(Order order, int limit) {
    return broker.view().fairnessKeys("q", order, limit, "");
  }

  private FairnessKeyPage.Row key(String name) {
    return broker.view().fairnessKeys("q", Order.DEPTH, 1, name).rows().get(0);
  }

  private static List<Delivery> take(MessageConsumer consumer, int messages)
      throws InterruptedException {
    List<Delivery> taken = new ArrayList<>();
    while (taken.size() < messages) {
      taken.addAll(consumer.poll(messages - taken.size(), SOON));
    }
    return taken;
  }

  @Test
  void keys_areSortedAndCut_withSumsOverAll() {
    send(3, of("a").withWeight(2));
    send(5, of("b"));
    send(1, of("c").withDelay(Duration.ofHours(1)));
    send(1, of("bb"));
    FairnessKeyPage all = keys(Order.DEPTH, 10);
    assertThat(all.active()).isEqualTo(4);
    assertThat(all.waiting()).isEqualTo(3);
    assertThat(all.readyWeight()).isEqualTo(4);
    assertThat(all.matching()).isEqualTo(4);
    assertThat(all.rows())
        .extracting(FairnessKeyPage.Row::fairnessKey)
        .containsExactly("b", "a", "bb", "c");
    assertThat(keys(Order.DEPTH, 2).rows())
        .extracting(FairnessKeyPage.Row::fairnessKey)
        .containsExactly("b", "a");
    assertThat(keys(Order.DEPTH, 2).waiting()).isEqualTo(3);
    FairnessKeyPage some = broker.view().fairnessKeys("q", Order.DEPTH, 1, "b");
    assertThat(some.rows()).extracting(FairnessKeyPage.Row::fairnessKey).containsExactly("b");
    assertThat(some.matching()).isEqualTo(2);
    assertThat(some.readyWeight()).isEqualTo(4);
    assertThat(key("c").delayed()).isEqualTo(1);
    assertThat(key("c").pending()).isZero();
    assertThat(keys(Order.WAIT, 10).rows())
        .extracting(FairnessKeyPage.Row::fairnessKey)
        .endsWith("c");
  }

  @Test
  void queue_hasTheFirstKeysByName_andCountsThemAll() {
    broker
        .enqueueAll("q", IntStream.range(0, 1_200).mapToObj(i -> of("k" + (9_999 - i))).toList())
        .join();
    send(1, of("a").withDelay(Duration.ofHours(1)));
    BrokerView.QueueSnapshot all = broker.view().queue("q", BrokerView.MAX_KEYS);
    assertThat(all.stats())
        .usingRecursiveComparison()
        .ignoringFields("oldestReady") // time passes
        .isEqualTo(broker.stats("q"));
    assertThat(all.waitingKeys()).isEqualTo(1_200);
    assertThat(all.stats().depth()).isEqualTo(1_201);
    BrokerView.QueueSnapshot some = broker.view().queue("q", 600);
    assertThat(some.stats().fairnessKeys()).isEqualTo(all.stats().fairnessKeys().subList(0, 600));
    assertThat(some.waitingKeys()).isEqualTo(1_200);
    assertThatIllegalArgumentException().isThrownBy(() -> broker.view().queue("q", 0));
    assertThatThrownBy(() -> broker.view().queue("none", 1)).isInstanceOf(BrokerException.class);
  }

  @Test
  void queriesOverManyKeys_shareOneScan_forASecond() {
    int many = FairnessKeyScan.EXPENSIVE + 1;
    broker
        .enqueueAll("q", IntStream.range(0, many).mapToObj(i -> of("k" + (i + many))).toList())
        .join();
    ManualClock clock = ManualClock.create();
    BrokerView view = ((LocalBroker) broker).view(clock);
    FairnessKeyPage keys = view.fairnessKeys("q", Order.DEPTH, BrokerView.MAX_KEYS, "");
    BrokerView.QueueSnapshot queue = view.queue("q", 1);
    assertThat(keys.rows()).extracting(FairnessKeyPage.Row::fairnessKey).hasSize(many).isSorted();
    assertThat(keys.waiting()).isEqualTo(many);
    assertThat(keys.readyWeight()).isEqualTo(many);
    assertThat(queue.waitingKeys()).isEqualTo(many);
    send(1, of("a"));
    clock.advance(Duration.ofNanos(QueryCache.AGE_NANOS - 1));
    for (int i = 0; i < 20; i++) {
      assertThat(view.fairnessKeys("q", Order.DEPTH, BrokerView.MAX_KEYS, "")).isSameAs(keys);
      assertThat(view.queue("q", 1)).isSameAs(queue);
    }
    assertThat(view.fairnessKeys("q", Order.DEPTH, 1, "").active()).isEqualTo(many + 1);
    clock.advance(Duration.ofNanos(1));
    assertThat(view.fairnessKeys("q", Order.DEPTH, BrokerView.MAX_KEYS, "").active())
        .isEqualTo(many + 1);
    assertThat(view.queue("q", 1).waitingKeys()).isEqualTo(many + 1);
    broker.deleteQueue("q");
    assertThatThrownBy(() -> view.queue("q", 1)).hasMessageContaining("unknown queue");
    broker.createQueue("q");
    assertThat(view.queue("q", 1).waitingKeys()).isZero();
  }

  @Test
  void queriesOverFewKeys_areNotCached() {
    BrokerView view = ((LocalBroker) broker).view(ManualClock.create());
    for (int i = 1; i < 4; i++) {
      send(1, of("a"));
      assertThat(view.fairnessKeys("q", Order.DEPTH, 1, "").rows().get(0).depth()).isEqualTo(i);
      assertThat(view.queue("q", 1).stats().depth()).isEqualTo(i);
    }
  }

  @Test
  void callbackThread_mayNotQueryTheView() {
    assertThatThrownBy(
            () ->
                AnswerThreads.callback(
                    broker, "q", () -> broker.view().fairnessKeys("q", Order.DEPTH, 1, "")))
        .hasMessageContaining("must not block on the broker");
  }

  @Test
  void aKey_countsDeliveredAndInFlightMessages() throws InterruptedException {
    send(3, of("a"));
    try (MessageConsumer consumer = broker.consume("q", 2)) {
      List<Delivery> taken = take(consumer, 2);
      assertThat(key("a").inFlight()).isEqualTo(2);
      assertThat(key("a").pending()).isEqualTo(1);
      assertThat(key("a").delivered()).isEqualTo(2);
      assertThat(broker.ackAll(taken).join()).isEmpty();
      assertThat(broker.ackAll(take(consumer, 1)).join()).isEmpty();
      FairnessKeyPage after = keys(Order.DELIVERED, 10);
      assertThat(after.active()).isZero();
      assertThat(after.rows())
          .containsExactly(
              new FairnessKeyPage.Row("a", 0, 0, 0, 0, 1, 3, Duration.ZERO, List.of()));
      send(1, of("a"));
      take(consumer, 1);
      assertThat(key("a").delivered()).isEqualTo(4);
    }
    assertThat(key("a").inFlight()).isZero();
    assertThat(key("a").pending()).isEqualTo(1);
  }

  @Test
  void inFlightMessages_areCountedAfterARestart() throws InterruptedException {
    send(2, of("a"));
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      take(consumer, 1);
      broker.close();
      broker = Broker.open(dir);
      assertThat(key("a").inFlight()).isEqualTo(1);
      assertThat(key("a").delivered()).isZero();
    }
  }

  @Test
  void idleKeys_areBounded() throws InterruptedException {
    int most = FairnessKeyTable.MAX_IDLE;
    List<Message> all = new ArrayList<>();
    IntStream.range(0, most + 10).forEach(i -> all.add(of("k" + i)));
    broker.enqueueAll("q", all).join();
    try (MessageConsumer consumer = broker.consume("q", most + 10)) {
      assertThat(broker.ackAll(take(consumer, most + 10)).join()).isEmpty();
    }
    assertThat(keys(Order.DEPTH, BrokerView.MAX_KEYS).rows()).hasSize(most);
    assertThat(keys(Order.DEPTH, BrokerView.MAX_KEYS).active()).isZero();
  }

  @Test
  void aThrottledKey_namesItsThrottleKeyAndNextGrant() throws InterruptedException {
    broker.setLimit("slow", Limit.ofRate(0.001, 1));
    broker.setLimit("shut", Limit.ofRate(0, 0));
    send(3, of("a").withThrottleKey("slow", 1));
    send(2, of("b").withThrottleKey("shut", 1));
    try (MessageConsumer consumer = broker.consume("q", 10)) {
      take(consumer, 1);
      FairnessKeyPage.Throttled slow = key("a").throttled().get(0);
      assertThat(slow.throttleKey()).isEqualTo("slow");
      assertThat(slow.messages()).isEqualTo(2);
      assertThat(slow.nextGrantIn().orElseThrow())
          .isBetween(Duration.ofMinutes(15), Duration.ofMinutes(17));
      assertThat(key("b").throttled().get(0).nextGrantIn()).isEmpty();
      LimitStats limit =
          broker.view().limitStats().limits().stream()
              .filter(each -> each.name().equals("slow"))
              .findFirst()
              .orElseThrow();
      assertThat(limit.taken()).isEqualTo(1);
      assertThat(limit.nextGrantIn().orElseThrow()).isGreaterThan(Duration.ofMinutes(15));
      assertThat(broker.view().waiters("slow", 10))
          .containsExactly(new LimitStats.Waiter("q", "a", 2, 2, 1));
      assertThat(broker.view().waiters("shut", 10))
          .containsExactly(new LimitStats.Waiter("q", "b", 2, 2, 1));
    }
  }

  @Test
  void readyWeight_sumsKeysWithDeliverableMessages() throws InterruptedException {
    broker.setLimit("shut", Limit.ofRate(0, 0));
    send(2, of("held").withWeight(2).withThrottleKey("shut", 1));
    send(1, of("urgent").withWeight(4).withThrottleKey("shut", 1).withPriority(1));
    send(3, of("urgent").withWeight(4));
    send(3, of("free").withWeight(8));
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      take(consumer, 1);
      FairnessKeyPage found = keys(Order.DEPTH, 1);
      assertThat(found.waiting()).isEqualTo(3);
      assertThat(found.readyWeight()).isEqualTo(12);
    }
    broker.removeLimit("shut");
    assertThat(keys(Order.DEPTH, 1).readyWeight()).isEqualTo(14);
  }

  @Test
  void weightOfThrottledKeys_isReportedByQueue() throws InterruptedException {
    broker.createQueue("other");
    broker.setLimit("slow", Limit.ofRate(0.001, 1));
    broker.setLimit("small", Limit.ofRate(1, 1));
    send(2, of("a").withWeight(1).withThrottleKey("slow", 1));
    send(1, of("b").withWeight(3).withThrottleKey("slow", 1));
    send(2, of("b").withWeight(3).withThrottleKey("slow", 1).withPriority(1));
    send(1, of("never").withWeight(5).withThrottleKey("slow", 2));
    send(1, of("elsewhere").withWeight(7).withThrottleKey("small", 2));
    send(1, of("free").withWeight(9));
    Message sibling = of("c").withWeight(20).withThrottleKey("slow", 1);
    try (MessageConsumer consumer = broker.consume("q", 10);
        MessageConsumer others = broker.consume("other", 10)) {
      take(consumer, 2);
      broker.enqueue("other", sibling).join();
      assertThat(others.poll(1, Duration.ofMillis(50))).isEmpty();
      assertThat(keys(Order.DEPTH, 10).rows())
          .filteredOn(each -> each.pending() > 0)
          .flatExtracting(FairnessKeyPage.Row::throttled)
          .extracting(each -> each.throttleKey() + "=" + each.weight())
          .containsExactlyInAnyOrder("slow=9", "slow=9", "slow=9", "small=7");
      assertThat(broker.view().fairnessKeys("other", Order.DEPTH, 1, "").rows().get(0).throttled())
          .singleElement()
          .extracting(FairnessKeyPage.Throttled::weight)
          .isEqualTo(20L);
    }
  }

  @Test
  void browse_beginsAtTheGivenId() {
    broker.createQueue("other");
    send(3, of("a"));
    List<StoredMessage> all = broker.view().browse("q", null, 10, BrokerView.PreviewSize.ALL);
    assertThat(all).hasSize(3);
    UUID second = all.get(1).id();
    assertThat(broker.view().browse("q", second, 10, BrokerView.PreviewSize.ALL))
        .extracting(StoredMessage::id)
        .containsExactly(second, all.get(2).id());
    broker.purgeQueue("q");
    send(1, of("b"));
    assertThat(broker.view().browse("q", second, 1, BrokerView.PreviewSize.ALL))
        .singleElement()
        .extracting(StoredMessage::fairnessKey)
        .isEqualTo("b");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.view().browse("other", second, 1, BrokerView.PreviewSize.ALL))
        .withMessage("from must be the id of a message of the queue other, but was " + second);
  }

  @Test
  void queues_listsAllQueues_withoutTheirKeys() {
    send(2, of("a"));
    assertThat(broker.view().queues().keySet()).containsExactly("q", "q.dlq");
    QueueStats stats = broker.view().queues().get("q");
    assertThat(stats.depth()).isEqualTo(2);
    assertThat(stats.fairnessKeys()).isEmpty();
    assertThat(stats.totals()).isEqualTo(broker.stats("q").totals());
  }

  @Test
  void invalidQueries_areRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> keys(Order.DEPTH, 0))
        .withMessageContaining("max must be from 1 to 10000, but was 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> broker.view().waiters("x", BrokerView.MAX_KEYS + 1));
    assertThatThrownBy(() -> broker.view().fairnessKeys("none", Order.DEPTH, 1, ""))
        .isInstanceOf(BrokerException.class)
        .hasMessageContaining("none");
  }

  @Test
  void requireAnswer_failsOnceTheBrokerHasStopped() {
    broker.view().ping();
    broker.close();
    assertThatThrownBy(() -> broker.view().ping())
        .isInstanceOfSatisfying(
            BrokerException.class,
            stopped -> assertThat(stopped.code()).isEqualTo(BrokerException.Code.STOPPED));
  }
}
