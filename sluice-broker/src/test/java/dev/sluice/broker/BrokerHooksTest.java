package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.hooks.HookCircuitBreaker;
import dev.sluice.broker.internal.hooks.HookExecutor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Scripts beside other work of a broker: no call waits for a script of another queue. */
@Tag("any-jdk")
@Timeout(60)
class BrokerHooksTest {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final String PLAIN = "plain";
  private static final String SCRIPT = "function on_enqueue(msg) return {} end";

  /** About 10,000 instructions, a tenth of what one run may use; 500 runs use up a call. */
  private static final String SLOW =
      "function on_enqueue(msg) local x = 0 for i = 1, 5000 do x = x + i end return {} end";

  private static final String GIVE_UP = "function on_failure(msg) return { action = 'dlq' } end";

  @TempDir Path dir;
  private final Gate gate = new Gate();
  private Broker broker;

  /** Stops the scripts of a queue at their end, on the thread that ran them, until it is opened. */
  private static final class Gate implements BrokerMetrics {
    final Queue<String> ran = new ConcurrentLinkedQueue<>();
    final Queue<String> refused = new ConcurrentLinkedQueue<>();
    private final CountDownLatch open = new CountDownLatch(1);
    private volatile String queue = "";

    @Override
    public void hook(String name, Hook hook, HookOutcome outcome, long nanos) {
      ran.add(name + " " + hook + " " + outcome);
      if (name.equals(queue)) {
        pass();
      }
    }

    @Override
    public void rejected(String name, Code why) {
      refused.add(name + " " + why);
    }

    private void pass() {
      try {
        assertThat(open.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void open(int hookThreads) {
    broker =
        Broker.open(dir, BrokerConfig.builder().hookThreads(hookThreads).metrics(gate).build());
    broker.createQueue(PLAIN, os().build());
  }

  private static QueueConfig.Builder os() {
    return QueueConfig.builder().durability(Durability.OS);
  }

  @AfterEach
  void close() {
    gate.open.countDown();
    broker.close();
  }

  private static List<Message> batch(int size) {
    return Collections.nCopies(size, Message.of("x"));
  }

  private static <T> T get(CompletableFuture<T> call) throws Exception {
    return call.get(SOON.toSeconds(), TimeUnit.SECONDS);
  }

  private static void assertRefused(CompletableFuture<?> call, Code code, String... parts) {
    assertThatThrownBy(() -> get(call))
        .isInstanceOf(ExecutionException.class)
        .cause()
        .isInstanceOfSatisfying(
            BrokerException.class, refused -> assertThat(refused.code()).isEqualTo(code))
        .hasMessageContainingAll(parts);
  }

  private List<String> payloads(String queue) {
    return broker.view().browse(queue, null, 1_000, BrokerView.PreviewSize.ALL).stream()
        .map(message -> new String(message.payload(), StandardCharsets.UTF_8))
        .toList();
  }

  @Test
  void runningScript_blocksNeitherItsCallerNorOtherQueues() throws Exception {
    open(1);
    gate.queue = "slow";
    broker.createQueue("slow", os().onEnqueue(SCRIPT).build());
    List<CompletableFuture<List<UUID>>> held = new ArrayList<>();
    for (int caller = 0; caller < 8; caller++) {
      held.add(broker.enqueueAll("slow", batch(1_000)));
    }
    for (int i = 0; i < 100; i++) {
      get(broker.enqueue(PLAIN, Message.of("x")));
    }
    try (MessageConsumer consumer = broker.consume(PLAIN, 1)) {
      Delivery delivery = consumer.poll(1, SOON).get(0);
      get(delivery.ack());
    }
    assertThat(held).noneMatch(CompletableFuture::isDone);
    gate.open.countDown();
    for (CompletableFuture<List<UUID>> call : held) {
      assertThat(get(call)).hasSize(1_000);
    }
    assertThat(broker.stats("slow").depth()).isEqualTo(8_000);
  }

  /** A caller that may enqueue to a dead-letter queue by its source may not use another queue. */
  @Test
  void callWhoseQueueIsDeleted_reachesNoNewQueueOfThatName() throws Exception {
    open(1);
    gate.queue = "q.dlq";
    broker.createQueue("q");
    broker.updateQueue("q.dlq", before -> os().onEnqueue(SCRIPT).build(), null);
    CompletableFuture<UUID> call = broker.enqueue("q.dlq", Message.of("x"));
    broker.deleteQueue("q");
    broker.createQueue("q.dlq");
    gate.open.countDown();
    assertRefused(call, Code.QUEUE_DELETED, "the queue was deleted: queue=q.dlq");
    assertThat(broker.stats("q.dlq").depth()).isZero();
    Awaitility.await().until(() -> gate.refused.contains("q.dlq QUEUE_DELETED"));
  }

  @Test
  void callWhoseScriptsUseTooMuchTogether_storesNothing() throws Exception {
    open(1);
    broker.createQueue("slow", os().onEnqueue(SLOW).build());
    assertRefused(
        broker.enqueueAll("slow", batch(1_000)),
        Code.HOOK_BUDGET,
        "5000000 instructions and 250 ms",
        "queue=slow",
        "of 1000 messages");
    assertThat(broker.stats("slow").depth()).isZero();
    assertThat(gate.refused).containsExactly("slow HOOK_BUDGET");
    // On a busy machine a single run may take too long; the breaker counts such runs, not the
    // refused call.
    assertThat(gate.ran).noneMatch(run -> run.endsWith("BYPASSED"));
    int runs = gate.ran.size();
    assertThat(runs).isLessThan(600);
    assertThat(get(broker.enqueue("slow", Message.of("x")))).isNotNull();
    assertThat(broker.stats("slow").depth()).isEqualTo(1);
    assertThat(gate.ran).hasSize(runs + 1);
  }

  @Test
  void scriptsThatFail_areBypassedWithinABatch_whichIsStored() throws Exception {
    open(1);
    broker.createQueue("bad", os().onEnqueue("function on_enqueue(msg) error('no') end").build());
    assertThat(get(broker.enqueueAll("bad", batch(1_000)))).hasSize(1_000);
    assertThat(gate.ran)
        .filteredOn("bad ENQUEUE FAILED"::equals)
        .hasSize(HookCircuitBreaker.FAILURES);
    assertThat(gate.ran).filteredOn("bad ENQUEUE BYPASSED"::equals).hasSize(997);
  }

  @Test
  void callsOfOneProducer_areStoredInOrder_withoutWaitingForAnswers() throws Exception {
    open(8);
    broker.createQueue("q", os().onEnqueue(SCRIPT).build());
    List<String> sent = new ArrayList<>();
    List<CompletableFuture<?>> calls = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      List<Message> batch = new ArrayList<>();
      for (int j = 0; j < 1 + i % 5; j++) {
        sent.add(i + "/" + j);
        batch.add(Message.of(i + "/" + j));
      }
      calls.add(broker.enqueueAll("q", batch));
    }
    for (CompletableFuture<?> call : calls) {
      get(call);
    }
    assertThat(payloads("q")).isEqualTo(sent);
  }

  @Test
  void callAfterTheScriptIsRemoved_doesNotOvertakeCallsWaitingForIt() throws Exception {
    open(2);
    gate.queue = "q";
    broker.createQueue("q", os().onEnqueue(SCRIPT).build());
    CompletableFuture<UUID> first = broker.enqueue("q", Message.of("first"));
    broker.updateQueue("q", before -> os().build(), null);
    CompletableFuture<UUID> second = broker.enqueue("q", Message.of("second"));
    gate.open.countDown();
    get(first);
    get(second);
    assertThat(payloads("q")).containsExactly("first", "second");
    get(broker.enqueue("q", Message.of("third")));
    assertThat(gate.ran).hasSize(1);
  }

  @Test
  void callsBeyondTheWaitingBound_areRefused_forThatQueueOnly() throws Exception {
    open(2);
    gate.queue = "full";
    broker.createQueue("full", os().onEnqueue(SCRIPT).build());
    broker.createQueue("other", os().onEnqueue(SCRIPT).build());
    List<CompletableFuture<UUID>> calls = new ArrayList<>();
    for (int i = 0; i < HookExecutor.MAX_CALLS; i++) {
      calls.add(broker.enqueue("full", Message.of("x")));
    }
    assertRefused(broker.enqueue("full", Message.of("x")), Code.BUSY, "queue=full");
    assertThat(gate.refused).containsExactly("full BUSY");
    get(broker.enqueue("other", Message.of("x")));
    gate.open.countDown();
    for (CompletableFuture<UUID> call : calls) {
      get(call);
    }
    assertThat(broker.stats("full").depth()).isEqualTo(HookExecutor.MAX_CALLS);
  }

  @Test
  void cancelledCall_isNotStored_andItsScriptsDoNotRun() throws Exception {
    open(1);
    gate.queue = "q";
    broker.createQueue("q", os().onEnqueue(SCRIPT).build());
    CompletableFuture<List<UUID>> first = broker.enqueueAll("q", batch(1));
    CompletableFuture<List<UUID>> canceled = broker.enqueueAll("q", batch(1_000));
    CompletableFuture<List<UUID>> last = broker.enqueueAll("q", batch(1));
    canceled.cancel(false);
    gate.open.countDown();
    get(first);
    get(last);
    assertThat(broker.stats("q").depth()).isEqualTo(2);
    assertThat(gate.ran).hasSize(2);
  }

  @Test
  void close_storesCallsWithRunningScripts() throws Exception {
    open(1);
    gate.queue = "q";
    broker.createQueue("q", os().onEnqueue(SCRIPT).build());
    List<CompletableFuture<List<UUID>>> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      calls.add(broker.enqueueAll("q", batch(10)));
    }
    Thread closing = new Thread(broker::close);
    closing.start();
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(
            () -> assertRefused(broker.enqueue("q", Message.of("x")), Code.STOPPED, "closed"));
    gate.open.countDown();
    closing.join(SOON.toMillis());
    for (CompletableFuture<List<UUID>> call : calls) {
      assertThat(get(call)).hasSize(10);
    }
    broker = Broker.open(dir);
    assertThat(broker.stats("q").depth()).isGreaterThanOrEqualTo(100);
  }

  @Test
  void failureHooksOfOneQueue_doNotWaitForThoseOfAnother() throws Exception {
    open(1);
    gate.queue = "many";
    for (String queue : List.of("many", "few")) {
      broker.createQueue(queue, os().onFailure(GIVE_UP).build());
      get(broker.enqueueAll(queue, batch(queue.equals("many") ? 50 : 1)));
    }
    List<CompletableFuture<Void>> nacks = new ArrayList<>();
    for (String queue : List.of("many", "few")) {
      try (MessageConsumer consumer = broker.consume(queue, 50)) {
        while (nacks.size() < (queue.equals("many") ? 50 : 51)) {
          nacks.add(consumer.poll(1, SOON).get(0).nack("no"));
        }
        // Asked, in this order, before the consumer gives anything back.
        broker.stats(queue);
        if (queue.equals("few")) {
          gate.open.countDown();
          for (CompletableFuture<Void> nack : nacks) {
            get(nack);
          }
        }
      }
    }
    List<String> order = List.copyOf(gate.ran);
    assertThat(order).hasSize(51);
    assertThat(order.indexOf("few FAILURE ANSWERED")).isLessThanOrEqualTo(2);
  }

  @Test
  void redriveByScript_runsInThePool_inPieces() throws Exception {
    open(1);
    broker.createQueue("q", os().onFailure(GIVE_UP).build());
    get(broker.enqueueAll("q", batch(600)));
    try (MessageConsumer consumer = broker.consume("q", 600)) {
      List<CompletableFuture<Void>> nacks = new ArrayList<>();
      while (nacks.size() < 600) {
        consumer.poll(600, SOON).forEach(delivery -> nacks.add(delivery.nack("no")));
      }
      for (CompletableFuture<Void> nack : nacks) {
        get(nack);
      }
    }
    assertThat(broker.stats("q.dlq").depth()).isEqualTo(600);
    gate.ran.clear();
    gate.queue = "q";
    broker.updateQueue("q", before -> os().onEnqueue(SLOW).build(), null);
    CompletableFuture<Long> redrive = broker.redriveAsync("q.dlq", 0, true);
    get(broker.enqueue(PLAIN, Message.of("x")));
    assertThat(redrive.isDone()).isFalse();
    gate.open.countDown();
    assertThat(get(redrive)).isEqualTo(600);
    assertThat(broker.stats("q").depth()).isEqualTo(600);
    assertThat(gate.ran).filteredOn("q ENQUEUE ANSWERED"::equals).hasSize(600);
  }

  @Test
  void canceledRedrive_endsAfterThePortionThatItHasClaimed() throws Exception {
    open(1);
    broker.createQueue("q", os().onEnqueue(SCRIPT).build());
    get(broker.enqueueAll("q.dlq", batch(1_000)));
    gate.queue = "q";
    AtomicBoolean canceled = new AtomicBoolean();
    CompletableFuture<Long> redrive = broker.redriveAsync("q.dlq", 0, true, canceled::get);
    Awaitility.await().atMost(SOON).until(() -> !gate.ran.isEmpty());
    canceled.set(true);
    assertThat(redrive).isNotDone();
    gate.open.countDown();
    assertThat(get(redrive)).isEqualTo(500);
    assertThat(broker.stats("q.dlq").depth()).isEqualTo(500);
  }
}
