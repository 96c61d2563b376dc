package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.Schema;
import dev.sluice.broker.internal.runtime.LocalBroker;
import dev.sluice.broker.internal.store.ByteReader;
import dev.sluice.broker.internal.store.ByteWriter;
import dev.sluice.broker.internal.store.MessageId;
import dev.sluice.broker.internal.store.RowBatch;
import dev.sluice.broker.internal.store.StoreTable;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A message keeps its id when it becomes a dead letter and when it is redriven. */
@Timeout(60)
final class MovedMessageTest {
  private static final Duration SOON = Duration.ofSeconds(20);

  @TempDir private Path dir;
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

  private void createQueue() {
    QueueConfig config =
        QueueConfig.builder().maxAttempts(1).dedupeWindow(Duration.ofHours(1)).build();
    broker.createQueue("q", config);
  }

  private UUID send(String text) {
    return broker.enqueue("q", Message.of(text)).join();
  }

  private Delivery receive(String queue) {
    List<Delivery> received = broker.receive(queue, 1, SOON).join();
    assertThat(received).hasSize(1);
    return received.get(0);
  }

  /** Delivers the next message, which fails and becomes a dead letter. */
  private Delivery bury() {
    Delivery delivery = receive("q");
    delivery.nack("no").join();
    return delivery;
  }

  private List<UUID> stored(String queue) {
    return broker.view().browse(queue, null, 100, BrokerView.PreviewSize.ALL).stream()
        .map(StoredMessage::id)
        .toList();
  }

  private static void assertNotLeased(CompletableFuture<Void> call) {
    assertThatThrownBy(call::join)
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(
            BrokerException.class,
            refused -> assertThat(refused.code()).isEqualTo(Code.LEASE_NOT_FOUND));
  }

  @Test
  void deadLetter_keepsItsId_andIsAcknowledgedByIt() {
    createQueue();
    UUID id = send("m");
    bury();
    Delivery dead = receive("q.dlq");
    assertThat(dead.id()).isEqualTo(id);
    assertThat(dead.deadLetter())
        .contains(new DeadLetter("q", id, DeadLetter.Reason.MAX_ATTEMPTS, 1, "no"));
    assertNotLeased(broker.ack("q", id, null));
    broker.ack("q.dlq", id, null).join();
    assertThat(broker.stats("q.dlq").depth()).isZero();
  }

  @Test
  void redrivenMessage_keepsItsId_howeverOftenItFails() {
    createQueue();
    UUID id = send("m");
    for (int i = 0; i < 3; i++) {
      assertThat(bury().id()).isEqualTo(id);
      assertThat(stored("q.dlq")).containsExactly(id);
      assertThat(broker.redrive("q.dlq", 0, i == 1)).isEqualTo(1);
      assertThat(stored("q")).containsExactly(id);
      assertThat(stored("q.dlq")).isEmpty();
    }
    assertThat(receive("q").id()).isEqualTo(id);
    assertNotLeased(broker.ack("q.dlq", id, null));
    broker.ack("q", id, null).join();
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void id_isTheSameAfterARestart() {
    createQueue();
    UUID redriven = send("redriven");
    bury();
    broker.redrive("q.dlq", 0, false);
    UUID failed = send("dead letter that failed");
    UUID dead = send("dead letter");
    Delivery first = receive("q");
    assertThat(first.id()).isEqualTo(redriven);
    bury();
    bury();
    first.release().join();
    receive("q.dlq").nack("again", Duration.ZERO).join();
    reopen();
    assertThat(stored("q")).containsExactly(redriven);
    assertThat(stored("q.dlq")).containsExactlyInAnyOrder(failed, dead);
    assertThat(List.of(receive("q.dlq").id(), receive("q.dlq").id()))
        .containsExactlyInAnyOrder(failed, dead);
    reopen();
    broker.ack("q.dlq", dead, null).join();
    broker.ack("q.dlq", failed, null).join();
    assertThat(receive("q").id()).isEqualTo(redriven);
    broker.ack("q", redriven, null).join();
    reopen();
    assertThat(broker.stats("q").depth() + broker.stats("q.dlq").depth()).isZero();
  }

  @Test
  void leaseOfAnEarlierPlace_settlesNothing() {
    createQueue();
    send("m");
    Delivery first = bury();
    Delivery dead = receive("q.dlq");
    assertNotLeased(first.ack());
    assertNotLeased(broker.ack("q.dlq", first.id(), first.leaseToken()));
    dead.release().join();
    broker.redrive("q.dlq", 0, false);
    Delivery again = receive("q");
    assertNotLeased(first.ack());
    assertNotLeased(first.nack("late"));
    assertNotLeased(dead.ack());
    assertNotLeased(broker.ack("q", dead.id(), dead.leaseToken()));
    again.ack().join();
  }

  @Test
  void duplicate_hasTheIdOfItsDeadLetter() {
    createQueue();
    Message message = Message.of("m").withDedupeId("once");
    UUID id = broker.enqueue("q", message).join();
    bury();
    assertThat(broker.enqueue("q", message).join()).isEqualTo(id);
    assertThat(stored("q.dlq")).containsExactly(id);
    assertThat(stored("q")).isEmpty();
  }

  @Test
  void browse_beginsWithTheDeadLetterOfThatId() {
    createQueue();
    List<UUID> ids = List.of(send("0"), send("1"), send("2"));
    ids.forEach(each -> bury());
    assertThat(browse("q.dlq", ids.get(1))).containsExactly(ids.get(1), ids.get(2));
    broker.redrive("q.dlq", 2, false);
    UUID later = send("later");
    assertThat(stored("q")).containsExactly(ids.get(0), ids.get(1), later);
    assertThat(browse("q", ids.get(1))).containsExactly(ids.get(1), later);
    assertThat(browse("q.dlq", ids.get(2))).containsExactly(ids.get(2));
    assertThat(browse("q.dlq", ids.get(0))).as("it was acknowledged").containsExactly(ids.get(2));
    broker.createQueue("other");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> browse("other", ids.get(0)))
        .withMessageStartingWith("from must be the id of a message of the queue other");
    assertThatIllegalArgumentException().isThrownBy(() -> browse("q", UUID.randomUUID()));
  }

  private List<UUID> browse(String queue, UUID from) {
    return broker.view().browse(queue, from, 100, BrokerView.PreviewSize.ALL).stream()
        .map(StoredMessage::id)
        .toList();
  }

  @Test
  void messageSentToADeadLetterQueue_keepsItsIdWhenItIsRedriven() {
    createQueue();
    UUID id = broker.enqueue("q.dlq", Message.of("m")).join();
    broker.redrive("q.dlq", 0, false);
    assertThat(stored("q")).containsExactly(id);
    reopen();
    assertThat(bury().id()).isEqualTo(id);
    assertThat(receive("q.dlq").id()).isEqualTo(id);
    broker.ack("q.dlq", id, null).join();
  }

  @Test
  void onFailure_seesTheSameId_onEveryFailure() {
    String script =
        """
        function on_failure(msg)
          if msg.id == sluice.get('expected') then return { action = 'dlq' } end
          return { action = 'retry' }
        end
        """;
    broker.createQueue("q", QueueConfig.builder().onFailure(script).build());
    UUID id = send("m");
    broker.setConfig("expected", id.toString());
    for (int i = 0; i < 2; i++) {
      bury();
      assertThat(stored("q.dlq")).containsExactly(id);
      broker.redrive("q.dlq", 0, false);
    }
  }

  @Test
  void heapOfIds_isCounted_andReleased() {
    createQueue();
    long empty = heap();
    send("m");
    long one = heap();
    bury();
    assertThat(heap()).isGreaterThan(one);
    long dead = heap();
    reopen();
    assertThat(heap()).isEqualTo(dead);
    broker.redrive("q.dlq", 0, false);
    assertThat(heap()).isEqualTo(dead);
    receive("q").ack().join();
    assertThat(heap()).isEqualTo(empty);
  }

  private long heap() {
    return ((LocalBroker) broker).runtime().engine.query(engine -> engine.state.messageHeap.used());
  }

  /** Brokers of schema version 2 and before gave each dead letter an id of its own. */
  @Test
  void deadLetterOfAnEarlierVersion_keepsItsReportedId() {
    createQueue();
    UUID first = send("m");
    bury();
    broker.close();
    UUID seen = forgetKeptIds();
    broker = Broker.open(dir);
    assertThat(seen).isNotEqualTo(first);
    Delivery dead = receive("q.dlq");
    assertThat(dead.id()).isEqualTo(seen);
    assertThat(dead.deadLetter().orElseThrow().id()).isEqualTo(first);
    dead.release().join();
    broker.redrive("q.dlq", 0, false);
    assertThat(bury().id()).isEqualTo(seen);
    assertThat(stored("q.dlq")).containsExactly(seen);
  }

  /** Rewrites the store as version 2 would have it; returns the id of its only message. */
  private UUID forgetKeptIds() {
    List<UUID> ids = new ArrayList<>();
    try (RocksStore store = RocksStore.open(dir)) {
      RowBatch rows = new RowBatch();
      store.scan(
          StoreTable.STATE,
          new byte[0],
          Schema.END,
          (key, value) -> {
            ids.add(MessageId.of(new ByteReader(key).int32(), Schema.sequence(key)));
            rows.put(StoreTable.STATE, key, withoutId(value));
            return true;
          });
      rows.put(StoreTable.META, Schema.VERSION_KEY, new ByteWriter(4).int32(2).toBytes());
      store.write(rows);
      store.sync();
    }
    assertThat(ids).hasSize(1);
    return ids.get(0);
  }

  private static byte[] withoutId(byte[] stateRow) {
    ByteReader in = new ByteReader(stateRow);
    ByteWriter out = new ByteWriter(stateRow.length);
    out.varint(in.varint32()).int64(in.int64()).int64(in.int64()).varint(in.varint32());
    InternedPlacement.Spec route = InternedPlacement.decode(in);
    assertThat(route)
        .isEqualTo(new InternedPlacement.Spec("default", 1, 0, new java.util.TreeMap<>()));
    return out.text("default").varint(1).varint(0).varint(0).toBytes();
  }

  @Test
  void headersAndPayload_moveAlong() {
    createQueue();
    Message message = Message.of("text").withHeaders(Map.of("h", "v")).withFairnessKey("tenant");
    UUID id = broker.enqueue("q", message).join();
    bury();
    StoredMessage dead = broker.view().browse("q.dlq", null, 1, BrokerView.PreviewSize.ALL).get(0);
    assertThat(dead.id()).isEqualTo(id);
    assertThat(dead.headers()).containsExactly(Map.entry("h", "v"));
    assertThat(dead.payload()).asString().isEqualTo("text");
    assertThat(dead.fairnessKey()).isEqualTo("tenant");
  }
}
