package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.engine.LimitConfigEntry;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.runtime.BrokerLifecycle;
import dev.sluice.broker.internal.runtime.LocalBroker;
import dev.sluice.broker.internal.store.MessageId;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A message that the disk does not return fails by itself, and the broker goes on. */
@Timeout(60)
final class UnreadableMessageTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  @TempDir private Path dir;
  private FaultyStore store;
  private Broker broker;

  @BeforeEach
  void open() {
    store = new FaultyStore(RocksStore.open(dir));
    broker =
        new LocalBroker(
            BrokerLifecycle.open(() -> store, BrokerConfig.builder().diskReserveBytes(0).build()));
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private void create(int maxAttempts) {
    broker.createQueue(
        "q", QueueConfig.builder().maxAttempts(maxAttempts).retryDelay(Duration.ZERO).build());
  }

  /** Sends messages of which the broker keeps no copy in memory. */
  private UUID send(String text) {
    UUID id = broker.enqueue("q", Message.of(text).withFairnessKey("k")).join();
    ((LocalBroker) broker)
        .runtime()
        .engine
        .query(
            engine -> {
              MessageEntry entry = engine.state.index.get(id);
              return entry == null ? null : engine.state.removeCachedBody(entry);
            });
    return id;
  }

  private void damage(UUID id) {
    store.unreadable.add(
        ByteBuffer.wrap(Schema.messageKey(MessageId.queueId(id), MessageId.sequence(id))));
  }

  private static ConditionFactory patiently() {
    return Awaitility.await().atMost(30, TimeUnit.SECONDS);
  }

  private long failures() {
    return broker.stats("q").totals().failed();
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 100})
  void readableMessages_areDeliveredToAConsumer(int count) throws Exception {
    create(0);
    UUID bad = send("bad");
    for (int i = 1; i < count; i++) {
      send("good");
    }
    damage(bad);
    BlockingQueue<Delivery> delivered = new LinkedBlockingQueue<>();
    try (MessageConsumer consumer = broker.consume("q", 1_000, delivered::addAll)) {
      for (int i = 1; i < count; i++) {
        Delivery next = delivered.poll(20, TimeUnit.SECONDS);
        assertThat(next).isNotNull();
        assertThat(next.id()).isNotEqualTo(bad);
        next.ack().join();
      }
      patiently().until(() -> failures() > 0);
      store.unreadable.clear();
      Delivery healed = delivered.poll(20, TimeUnit.SECONDS);
      assertThat(healed).isNotNull();
      assertThat(healed.id()).isEqualTo(bad);
      assertThat(consumer.queue()).isEqualTo("q");
    }
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void itsCredit_isReturnedToTheConsumer(int credit) throws Exception {
    create(0);
    UUID bad = send("bad");
    UUID good = send("good");
    damage(bad);
    BlockingQueue<Delivery> delivered = new LinkedBlockingQueue<>();
    try (MessageConsumer consumer = broker.consume("q", 0, delivered::addAll)) {
      consumer.addCredit(credit);
      Delivery next = delivered.poll(20, TimeUnit.SECONDS);
      assertThat(next).isNotNull();
      assertThat(next.id()).isEqualTo(good);
    }
  }

  /** As streams of fila do: each message that is sent makes room for another one. */
  @Test
  void manyUnreadableMessages_doNotStarveAConsumer() throws Exception {
    create(0);
    for (int i = 0; i < 200; i++) {
      damage(send("bad"));
    }
    UUID good = send("good");
    BlockingQueue<Delivery> delivered = new LinkedBlockingQueue<>();
    CompletableFuture<MessageConsumer> opened = new CompletableFuture<>();
    MessageConsumer.Handler handler =
        deliveries -> {
          delivered.addAll(deliveries);
          opened.join().addCredit(deliveries.size());
        };
    try (MessageConsumer consumer = broker.consume("q", 0, handler)) {
      opened.complete(consumer);
      consumer.addCredit(64);
      Delivery next = delivered.poll(20, TimeUnit.SECONDS);
      assertThat(next).isNotNull();
      assertThat(next.id()).isEqualTo(good);
    }
  }

  @Test
  void receive_returnsReadableMessages_andFailsWithoutAny() {
    create(0);
    UUID bad = send("bad");
    UUID good = send("good");
    UUID last = send("last");
    damage(bad);
    List<Delivery> some = broker.receive("q", 2, SOON).join();
    assertThat(some).extracting(Delivery::id).containsExactly(good);
    ((LocalBroker) broker).runtime().engine.query(engine -> engine.state.now);
    // It waits before it is tried again, and holds up nothing behind it.
    List<Delivery> next = broker.receive("q", 1, SOON).join();
    assertThat(next).extracting(Delivery::id).containsExactly(last);
    assertThatThrownBy(() -> broker.receive("q", 1, SOON).join())
        .isInstanceOf(CompletionException.class)
        .cause()
        .hasMessage("the store cannot be read: get: Input/output error")
        .isInstanceOfSatisfying(
            BrokerException.class,
            failed -> assertThat(failed.code()).isEqualTo(Code.STORE_FAILED));
  }

  /** To move it, the broker would have to read it: after a restart it would have to again. */
  @Test
  void itIsNotDeadLettered_andDoesNotStopTheBroker() {
    create(1);
    UUID bad = send("bad");
    damage(bad);
    try (MessageConsumer consumer = broker.consume("q", 10, ignored -> {})) {
      patiently().until(() -> failures() >= 2);
      assertThat(consumer.queue()).isEqualTo("q");
    }
    assertThat(broker.stats("q.dlq").depth()).isZero();
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
    store.unreadable.clear();
    Delivery healed = broker.receive("q", 1, SOON).join().get(0);
    assertThat(healed.attempts()).isGreaterThanOrEqualTo(1);
    healed.nack("no").join();
    assertThat(broker.view().browse("q.dlq", null, 10, BrokerView.PreviewSize.ALL))
        .extracting(StoredMessage::id)
        .containsExactly(bad);
  }

  private void assertKept() throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(1_500);
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
    assertThat(broker.stats("q").depth()).isEqualTo(1);
    assertThat(broker.stats("q.dlq").depth()).isZero();
  }

  @Test
  void itsExpiry_waitsUntilItCanBeRead_andDoesNotStopTheBroker() throws Exception {
    broker.createQueue("q", QueueConfig.builder().timeToLive(Duration.ofSeconds(1)).build());
    UUID bad = send("bad");
    damage(bad);
    assertKept();
    store.unreadable.clear();
    patiently().until(() -> broker.stats("q.dlq").depth() == 1);
    assertThat(broker.view().browse("q.dlq", null, 10, BrokerView.PreviewSize.ALL))
        .extracting(StoredMessage::id)
        .containsExactly(bad);
  }

  /** The consumer has not taken it, so it was not read before. */
  @Test
  void itsLastLease_expires_andDoesNotStopTheBroker() throws Exception {
    QueueConfig.Builder config = QueueConfig.builder().maxAttempts(1);
    broker.createQueue("q", config.leaseTimeout(Duration.ofSeconds(1)).build());
    UUID bad = send("bad");
    damage(bad);
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      patiently().until(() -> failures() > 0);
      assertThat(consumer.queue()).isEqualTo("q");
    }
    assertKept();
    store.unreadable.clear();
    broker.receive("q", 1, SOON).join().get(0).nack("no").join();
    assertThat(broker.view().browse("q.dlq", null, 10, BrokerView.PreviewSize.ALL))
        .extracting(StoredMessage::id)
        .containsExactly(bad);
  }

  @Test
  void itsRedrive_isRefused_andDoesNotStopTheBroker() {
    create(1);
    UUID bad = send("bad");
    broker.receive("q", 1, SOON).join().get(0).nack("no").join();
    patiently().until(() -> broker.stats("q.dlq").depth() == 1);
    damage(
        ((LocalBroker) broker)
            .runtime()
            .engine
            .query(engine -> engine.state.index.get(bad).storedId()));
    assertThatThrownBy(() -> broker.redrive("q.dlq", 1, false))
        .hasMessage("the message cannot be read: queue=q.dlq, id=" + bad);
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
    store.unreadable.clear();
    assertThat(broker.redrive("q.dlq", 1, false)).isEqualTo(1);
  }

  @Test
  void itsTokens_areReturned() {
    create(0);
    broker.setConfig(LimitConfigEntry.configKey("t"), new LimitConfigEntry(0.001, 1).format());
    UUID bad = broker.enqueue("q", Message.of("bad").withThrottleKeys("t")).join();
    ((LocalBroker) broker)
        .runtime()
        .engine
        .query(engine -> engine.state.removeCachedBody(engine.state.index.get(bad)));
    damage(bad);
    assertThatThrownBy(() -> broker.receive("q", 1, SOON).join())
        .hasMessageContaining("Input/output error");
    UUID good = broker.enqueue("q", Message.of("good").withThrottleKeys("t")).join();
    List<Delivery> next = broker.receive("q", 1, SOON).join();
    assertThat(next).extracting(Delivery::id).containsExactly(good);
  }
}
