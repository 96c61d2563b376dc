package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.Limit;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.accounting.ConfigHeapUsage;
import dev.sluice.broker.internal.accounting.FairnessKeyTable;
import dev.sluice.broker.internal.accounting.IdleKeyLru;
import dev.sluice.broker.internal.accounting.QueueHeapUsage;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.MessageEntry;
import dev.sluice.broker.internal.runtime.BrokerRuntime;
import dev.sluice.broker.internal.runtime.LocalBroker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The heap that callers can use is bounded, and refused calls change nothing. */
final class BrokerHeapTest {
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

  private <T> T ask(Function<EngineState, T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    ((LocalBroker) broker)
        .runtime()
        .engine
        .submit(engine -> answer.complete(question.apply(engine.state)));
    return answer.join();
  }

  private long setup() {
    return ask(state -> state.configHeap.used());
  }

  private long messages() {
    return ask(state -> state.messageHeap.used());
  }

  private void boundSetup(long bytes) {
    ((LocalBroker) broker).runtime().engine.submit(engine -> engine.state.configHeap.bound(bytes));
  }

  private void boundMessages(long bytes) {
    ((LocalBroker) broker).runtime().engine.submit(engine -> engine.state.messageHeap.bound(bytes));
  }

  /** Bounds the messages of a queue that holds more than a little. */
  private void boundMessagesOfOneQueue(long bytes) {
    boundMessages(bytes + bytes / (QueueHeapUsage.RESERVED_SHARE - 1));
  }

  private static void assertFull(ThrowingCallable call, String what) {
    assertThatExceptionOfType(BrokerException.class)
        .isThrownBy(call)
        .withMessageContaining(what)
        .satisfies(refused -> assertThat(refused.code()).isEqualTo(Code.HEAP_FULL));
  }

  private static void await(CompletableFuture<?> call) throws Exception {
    try {
      call.join();
    } catch (CompletionException failed) {
      throw (Exception) failed.getCause();
    }
  }

  private static QueueConfig script(int number) {
    String text =
        "function on_enqueue(m) return { fairness_key = '%d' } end --%s"
            .formatted(number, "x".repeat(10_000));
    return QueueConfig.builder().onEnqueue(text).build();
  }

  @Test
  void queuesWithScripts_areRefusedBeyondTheBound() {
    boundSetup(250_000);
    broker.createQueue("a", script(1));
    broker.createQueue("b", script(2));
    long before = setup();
    assertFull(() -> broker.createQueue("c", script(3)), "must take at most 250000 bytes");
    assertFull(
        () -> broker.updateQueue("a", is -> script(3), null), "queues, hooks and configuration");
    assertThat(setup()).isEqualTo(before);
    assertThat(broker.queues()).containsOnlyKeys("a", "a.dlq", "b", "b.dlq");
    assertThat(broker.queues().get("a")).isEqualTo(script(1));
    broker.deleteQueue("b");
    broker.createQueue("c", script(3));
    assertThat(setup()).isEqualTo(before);
  }

  @Test
  void oneScriptOfManyQueues_isStoredOnce() {
    broker.createQueue("a", script(1));
    long first = setup();
    broker.createQueue("b", script(1));
    assertThat(setup() - first).isEqualTo(2 * ConfigHeapUsage.QUEUE_BYTES);
    assertThat(broker.queues().get("a").onEnqueue()).isSameAs(broker.queues().get("b").onEnqueue());
    broker.close();
    broker = Broker.open(dir);
    assertThat(broker.queues().get("a").onEnqueue()).isSameAs(broker.queues().get("b").onEnqueue());
  }

  private static QueueConfig patterns(int from, int to) {
    return QueueConfig.builder()
        .onEnqueue("function on_enqueue(m) end")
        .hookThrottleKeys(
            IntStream.range(from, to).mapToObj(i -> "%d.%s".formatted(i, "x".repeat(250))).toList())
        .build();
  }

  @Test
  void patternsOfThrottleKeys_areCounted_andStoredOnce() {
    broker.createQueue("a", patterns(0, 1));
    long before = setup();
    broker.createQueue("b", patterns(0, 1));
    assertThat(setup() - before).isEqualTo(2 * ConfigHeapUsage.QUEUE_BYTES);
    broker.updateQueue("b", is -> patterns(0, 64), null);
    assertThat(setup() - before).isBetween(63 * 2_000L, 63 * 2_500L);
    boundSetup(setup());
    assertFull(() -> broker.updateQueue("a", is -> patterns(64, 128), null), "configuration");
    broker.updateQueue("a", is -> patterns(0, 64), null);
    broker.deleteQueue("b");
    broker.updateQueue("a", is -> patterns(0, 1), null);
    assertThat(setup()).isEqualTo(before);
  }

  @Test
  void refusedScripts_areNotCached() {
    broker.createQueue("a", script(1));
    for (int i = 2; i < 10; i++) {
      QueueConfig other = script(i);
      assertThatExceptionOfType(BrokerException.class)
          .isThrownBy(() -> broker.createQueue("a", other));
    }
    int kept = ask(state -> ((BrokerRuntime) state.callbacks).registry.compiled());
    assertThat(kept).isEqualTo(1);
  }

  @Test
  void configuration_isRefusedBeyondTheBound() {
    boundSetup(4_000);
    broker.setConfig("a", "x".repeat(1_000));
    broker.setLimit("provider", Limit.ofRate(1, 1));
    assertFull(() -> broker.setConfig("b", "x".repeat(1_024)), "configuration");
    assertFull(() -> broker.setLimit("t".repeat(256), Limit.ofRate(1, 1)), "configuration");
    assertThat(broker.config()).containsOnlyKeys("a", "throttle.provider");
    broker.setConfig("a", "x");
    broker.removeConfig("a");
    broker.setConfig("b", "x".repeat(1_024));
  }

  @Test
  void messages_areRefusedBeyondTheBound_andSettlingMakesRoom() throws Exception {
    broker.createQueue("q");
    broker.enqueue("q", Message.of("first")).join();
    long one = messages();
    boundMessagesOfOneQueue(one);
    assertFull(
        () -> await(broker.enqueue("q", Message.of("second"))), "messages and remembered ids");
    assertThat(messages()).isEqualTo(one);
    try (MessageConsumer consumer = broker.consume("q", 1)) {
      consumer.poll(1, Duration.ofSeconds(20)).get(0).ack().join();
    }
    assertThat(messages()).isZero();
    broker.enqueue("q", Message.of("second")).join();
    broker.purgeQueue("q");
    assertThat(messages()).isZero();
  }

  private static List<Message> batch(int size, IntFunction<Message> each) {
    return IntStream.range(0, size).mapToObj(each).toList();
  }

  private void assertRefusedUnchanged(List<Message> batch) {
    long before = messages();
    assertFull(() -> await(broker.enqueueAll("q", batch)), "messages and remembered ids");
    assertThat(messages()).isEqualTo(before);
    assertThat(broker.stats("q").depth()).isZero();
  }

  @Test
  void queueThatFillsTheHeap_leavesRoomForSmallQueues() {
    broker.createQueue("a");
    broker.createQueue("b");
    boundMessages(128_000);
    broker.enqueueAll("a", batch(550, i -> Message.of("m"))).join();
    fill("a");
    assertThat(messages()).isBetween(112_000L - MessageEntry.HEAP_BYTES, 112_000L);
    String rule = "at most 112000 bytes of the heap beyond queues that hold at most 2000 each";
    assertFull(() -> await(broker.enqueue("a", Message.of("m"))), rule);
    assertFull(() -> await(broker.enqueue("a", Message.of("m"))), "queue=a");
    broker.enqueue("b", Message.of("m")).join();
    fill("b");
    assertFull(() -> await(broker.enqueue("b", Message.of("m"))), rule);
    long little = ask(state -> state.queue("b").messageHeap.used());
    assertThat(little).isBetween(2_000L - MessageEntry.HEAP_BYTES, 2_000L);
    broker.close();
    broker = Broker.open(dir);
    boundMessages(128_000);
    assertFull(() -> await(broker.enqueue("a", Message.of("m"))), rule);
    broker.purgeQueue("b");
    broker.enqueue("b", Message.of("m")).join();
    broker.purgeQueue("a");
    broker.enqueueAll("b", batch(500, i -> Message.of("m"))).join();
  }

  @Test
  void queueThatFillsTheHeap_withDeadLetters_leavesRoomForSmallQueues() {
    broker.createQueue("a", QueueConfig.builder().timeToLive(Duration.ofMillis(1)).build());
    broker.createQueue("b");
    boundMessages(128_000);
    broker.enqueueAll("a", batch(550, i -> Message.of("m"))).join();
    awaitEmpty("a");
    fill("a");
    awaitEmpty("a");
    assertThat(broker.stats("a.dlq").depth()).isBetween(551L, 559L);
    assertFull(() -> await(broker.enqueue("a", Message.of("m"))), "queue=a holds ");
    String rule = "queues that hold at most 2000 each";
    assertFull(() -> await(broker.enqueue("a", Message.of("m"))), rule);
    broker.enqueue("b", Message.of("m")).join();
    // With a placement of its own: otherwise it may have what the expired ones of a have left.
    Message other = Message.of("m").withFairnessKey("other");
    assertFull(() -> await(broker.enqueue("a.dlq", other)), "queue=a.dlq holds ");
    broker.purgeQueue("a.dlq");
    broker.enqueue("a", Message.of("m")).join();
  }

  private void awaitEmpty(String queue) {
    Awaitility.await().until(() -> broker.stats(queue).depth() == 0);
  }

  @Test
  void redrive_leavesRoomForSmallQueues() {
    String script = "function on_enqueue(m) return { fairness_key = m.headers.key } end";
    broker.createQueue("a", QueueConfig.builder().onEnqueue(script).build());
    broker.createQueue("b");
    broker
        .enqueueAll(
            "a.dlq", batch(100, i -> Message.of("m").withHeaders(Map.of("key", "key-" + i))))
        .join();
    boundMessages(64_000);
    assertThat(broker.redrive("a.dlq", 0, true)).isPositive().isLessThan(100);
    assertThat(messages()).isLessThanOrEqualTo(56_000 + 100 * QueueHeapUsage.MOVED_ID_BYTES);
    broker.enqueue("b", Message.of("m")).join();
  }

  @Test
  void revokedCall_isNotStored_andIsFailedByItsCaller() {
    broker.createQueue("q");
    EnqueueCaller ended =
        new EnqueueCaller() {
          @Override
          public @Nullable String account() {
            return null;
          }

          @Override
          public boolean mayStore() {
            return false;
          }
        };
    var call = broker.enqueueAll("q", List.of(Message.of("m")), ended);
    assertThat(call).isNotDone();
    assertThat(broker.stats("q").depth()).isZero();
    assertThat(call.completeExceptionally(new IllegalStateException("revoked"))).isTrue();
  }

  /** Enqueues until the queue is refused more. */
  private void fill(String queue) {
    try {
      for (int i = 0; i < 100; i++) {
        broker.enqueue(queue, Message.of("m")).join();
      }
    } catch (CompletionException full) {
      assertThat(full).hasCauseInstanceOf(BrokerException.class);
    }
  }

  @Test
  void newRoutesOfOneBatch_areCounted() {
    broker.createQueue("q");
    boundMessages(5_000);
    assertRefusedUnchanged(batch(10, i -> Message.of("m").withFairnessKey("key-" + i)));
    assertRefusedUnchanged(batch(10, i -> Message.of("m").withWeight(1 + i)));
    assertRefusedUnchanged(batch(2, i -> Message.of("m").withThrottleKeys("a" + i, "b", "c", "d")));
    broker.enqueueAll("q", batch(10, i -> Message.of("m").withFairnessKey("key"))).join();
    long same = messages();
    boundMessagesOfOneQueue(same + 10 * MessageEntry.HEAP_BYTES);
    broker.enqueueAll("q", batch(10, i -> Message.of("m").withFairnessKey("key"))).join();
    assertThat(messages()).isEqualTo(same + 10 * MessageEntry.HEAP_BYTES);
  }

  @Test
  void newDedupeIdsOfOneBatch_areCounted_ifTheQueueHasADedupeWindow() {
    broker.createQueue("q", QueueConfig.builder().dedupeWindow(Duration.ofDays(1)).build());
    boundMessages(5_000);
    assertRefusedUnchanged(batch(12, i -> Message.of("m").withDedupeId("id-" + i)));
    broker.updateQueue("q", before -> QueueConfig.defaults(), null);
    broker.enqueueAll("q", batch(12, i -> Message.of("m").withDedupeId("id-" + i))).join();
  }

  /** Each queue remembers a thousand; without a bound in all, many queues would fill the heap. */
  @Test
  void keysWithoutMessages_areBoundedInAllQueuesTogether() {
    int queues = IdleKeyLru.MAX / FairnessKeyTable.MAX_IDLE + 2;
    for (int i = 0; i < queues; i++) {
      String queue = "q" + i;
      broker.createQueue(queue);
      List<Message> once =
          batch(FairnessKeyTable.MAX_IDLE, key -> Message.of("").withFairnessKey("k" + key));
      broker.enqueueAll(queue, once).join();
      broker.purgeQueue(queue);
    }
    assertThat(idleKeys()).isEqualTo(IdleKeyLru.MAX);
    assertThat(keysOfAll()).isEqualTo(IdleKeyLru.MAX);
    assertThat(keysOf("q0")).isZero();
    assertThat(keysOf("q" + (queues - 1))).isEqualTo(FairnessKeyTable.MAX_IDLE);
    broker.deleteQueue("q" + (queues - 1));
    assertThat(idleKeys()).isEqualTo(IdleKeyLru.MAX - FairnessKeyTable.MAX_IDLE);
  }

  private int idleKeys() {
    return ask(state -> state.idleKeys.size());
  }

  private int keysOfAll() {
    return ask(
        state ->
            state.queues.values().stream().mapToInt(line -> line.fairnessKeys.all().length).sum());
  }

  private int keysOf(String queue) {
    return ask(state -> state.queue(queue).fairnessKeys.all().length);
  }

  @Test
  void redriveToNewRoutes_isRefusedBeyondTheBound() {
    String script = "function on_enqueue(m) return { fairness_key = m.headers.key } end";
    broker.createQueue("q", QueueConfig.builder().onEnqueue(script).build());
    broker
        .enqueueAll("q.dlq", batch(10, i -> Message.of("m").withHeaders(Map.of("key", "key-" + i))))
        .join();
    long bound = messages() + 1_000;
    boundMessagesOfOneQueue(bound);
    assertThat(broker.redrive("q.dlq", 0, true)).isEqualTo(1);
    assertFull(() -> broker.redrive("q.dlq", 0, true), "messages and remembered ids");
    assertThat(messages()).isLessThanOrEqualTo(bound);
    assertThat(broker.stats("q.dlq").depth()).isEqualTo(9);
    boundMessagesOfOneQueue(bound + 10_000);
    assertThat(broker.redrive("q.dlq", 0, true)).isEqualTo(9);
  }

  @Test
  void dedupeIds_areCounted_untilTheQueueIsDeleted() {
    broker.createQueue("q", QueueConfig.builder().dedupeWindow(Duration.ofDays(1)).build());
    broker.enqueue("q", Message.of("a").withDedupeId("a")).join();
    broker.enqueue("q", Message.of("a").withDedupeId("a")).join();
    long one = messages();
    broker.enqueue("q", Message.of("b").withDedupeId("b")).join();
    broker.purgeQueue("q");
    assertThat(messages()).isPositive().isLessThan(one);
    broker.deleteQueue("q");
    assertThat(messages()).isZero();
  }

  @Test
  void everything_isCountedAgainAfterARestart() {
    broker.createQueue("q", script(1));
    broker.setConfig("key", "value");
    Message message =
        Message.of("m").withFairnessKey("k").withThrottleKeys("a", "b").withDedupeId("d");
    broker.enqueue("q", message).join();
    broker.enqueue("q.dlq", message).join();
    long setup = setup();
    long messages = messages();
    broker.close();
    broker = Broker.open(dir);
    assertThat(setup()).isEqualTo(setup);
    assertThat(messages()).isEqualTo(messages);
  }

  @Test
  void headersOfAMessage_areBounded() {
    Map<String, String> headers = new HashMap<>();
    for (int i = 0; i < Message.MAX_HEADERS; i++) {
      headers.put("h" + i, "");
    }
    assertThat(Message.of("m").withHeaders(headers).headers()).isEqualTo(headers);
    headers.put("one more", "");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Message.of("m").withHeaders(headers))
        .withMessageContaining("number of headers must be from 0 to 100");
  }

  /** Without an order, a hash map compares all entries whose hashes collide, one by one. */
  @Test
  void placements_areTotallyOrdered() {
    List<InternedPlacement.Spec> specs = new ArrayList<>();
    for (String key : List.of("Aa", "BB")) {
      for (int number = 0; number < 2; number++) {
        specs.add(new InternedPlacement.Spec(key, 1 + number, 0, new TreeMap<>()));
        specs.add(new InternedPlacement.Spec(key, 1, 1 + number, new TreeMap<>()));
        specs.add(new InternedPlacement.Spec(key, 1, 0, new TreeMap<>(Map.of("t" + number, 1L))));
        specs.add(new InternedPlacement.Spec(key, 1, 0, new TreeMap<>(Map.of("u", 1L + number))));
      }
    }
    for (InternedPlacement.Spec one : specs) {
      for (InternedPlacement.Spec other : specs) {
        int order = one.compareTo(other);
        assertThat(order == 0).isEqualTo(one.equals(other));
        assertThat(Integer.signum(other.compareTo(one))).isEqualTo(-Integer.signum(order));
      }
    }
    assertThat(Comparable.class).isAssignableFrom(InternedPlacement.Spec.class);
  }
}
