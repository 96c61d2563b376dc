package dev.sluice.broker.internal.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.BrokerStatus;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Handlers hold threads only while they run, and a thread that is refused ends one consumer. */
@Timeout(120)
final class HandlerThreadsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int CONSUMERS = 50;
  private static final int MESSAGES = 5_000;

  @TempDir private Path dir;
  private Broker broker;
  private ThreadPoolExecutor threads;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
    broker.createQueue("q");
    threads = ((LocalBroker) broker).runtime().consumers.handlers();
  }

  @AfterEach
  void close() {
    broker.close();
  }

  /** Throws the error of a JVM if the system allows no more threads. */
  private void refuseThreads() {
    // Not a thread with a start() of its own: newer JDKs start the threads of a pool without it.
    threads.setThreadFactory(
        task -> {
          throw new OutOfMemoryError("unable to create native thread");
        });
  }

  /** Takes messages when {@link #ready} is set. */
  private static final class Receiver implements MessageConsumer.Handler {
    final AtomicInteger asked = new AtomicInteger();
    final AtomicInteger received = new AtomicInteger();
    final CompletableFuture<BrokerException> end = new CompletableFuture<>();
    volatile boolean ready;

    @Override
    public void handle(List<Delivery> deliveries) {
      received.addAndGet(deliveries.size());
    }

    @Override
    public long payloadBudget(long waitingBytes) {
      asked.incrementAndGet();
      return ready ? 1 : NOT_NOW;
    }

    @Override
    public void ended(BrokerException reason) {
      end.complete(reason);
    }
  }

  @Test
  void consumerWithoutAThread_ends_andItsMessagesAreRedelivered() throws Exception {
    Receiver refused = new Receiver();
    broker.consume("q", 10, refused);
    refuseThreads();
    broker.enqueue("q", Message.of("m")).join();
    BrokerException reason = refused.end.get(60, TimeUnit.SECONDS);
    assertThat(reason.code()).isEqualTo(Code.CONSUMER_CLOSED);
    assertThat(reason).hasMessageContaining("queue=q, reason=unable to create native thread");
    assertThat(refused.asked).hasValue(0);
    try (MessageConsumer other = broker.consume("q", 1)) {
      assertThat(other.poll(1, PATIENCE)).hasSize(1);
    }
    broker.enqueue("q", Message.of("next")).join();
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
    await().atMost(PATIENCE).until(() -> broker.stats("q").consumers() == 0);
  }

  @Test
  void consumerWithoutAThread_keepsTheMessagesThatItHasReceived() throws Exception {
    BlockingQueue<Delivery> received = new LinkedBlockingQueue<>();
    broker.consume("q", 10, received::addAll);
    broker.enqueue("q", Message.of("received")).join();
    Delivery first = Objects.requireNonNull(received.poll(60, TimeUnit.SECONDS));
    threads.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
    await().atMost(PATIENCE).until(() -> threads.getPoolSize() == 0);
    refuseThreads();
    broker.enqueue("q", Message.of("next")).join();
    try (MessageConsumer other = broker.consume("q", 10)) {
      List<Delivery> next = other.poll(10, PATIENCE);
      assertThat(next).hasSize(1);
      assertThat(next.get(0).payload()).asString(StandardCharsets.UTF_8).isEqualTo("next");
      await().atMost(PATIENCE).until(() -> broker.stats("q").consumers() == 1);
      first.ack().join();
    }
    assertThat(received).isEmpty();
  }

  @Test
  void handlerWhoseBudgetFails_getsOneMessageAtATime() {
    List<Integer> batches = new CopyOnWriteArrayList<>();
    MessageConsumer.Handler handler =
        new MessageConsumer.Handler() {
          @Override
          public void handle(List<Delivery> deliveries) {
            batches.add(deliveries.size());
          }

          @Override
          public long payloadBudget(long waitingBytes) {
            throw new IllegalStateException("thrown by the test");
          }
        };
    broker.enqueueAll("q", Collections.nCopies(10, Message.of("m"))).join();
    broker.consume("q", 10, handler);
    await().atMost(PATIENCE).until(() -> broker.stats("q").inFlight() == 10);
    await().atMost(PATIENCE).until(() -> batches.stream().mapToInt(each -> each).sum() == 10);
    assertThat(batches).containsOnly(1);
  }

  @Test
  void endOfAQueue_isReportedWithoutAThread() throws Exception {
    Receiver receiver = new Receiver();
    broker.consume("q", 10, receiver);
    refuseThreads();
    broker.deleteQueue("q");
    assertThat(receiver.end.get(60, TimeUnit.SECONDS).code()).isEqualTo(Code.QUEUE_DELETED);
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
  }

  @Test
  void handlersThatAreNotReady_holdNoThreads() {
    List<Receiver> receivers = new ArrayList<>();
    List<MessageConsumer> consumers = new ArrayList<>();
    for (int i = 0; i < CONSUMERS; i++) {
      Receiver receiver = new Receiver();
      receivers.add(receiver);
      consumers.add(broker.consume("q", 2, receiver));
    }
    for (int round = 0; round < 2; round++) {
      List<Message> messages = new ArrayList<>();
      for (int i = 0; i < CONSUMERS; i++) {
        messages.add(Message.of("m"));
      }
      broker.enqueueAll("q", messages).join();
    }
    await().atMost(PATIENCE).until(() -> receivers.stream().allMatch(each -> each.asked.get() > 0));
    await().atMost(PATIENCE).until(() -> threads.getActiveCount() == 0);
    assertThat(broker.stats("q").inFlight()).isEqualTo(2L * CONSUMERS);
    assertThat(receivers).allMatch(each -> each.received.get() == 0);
    receivers.forEach(each -> each.ready = true);
    consumers.forEach(MessageConsumer::resume);
    await()
        .atMost(PATIENCE)
        .until(() -> receivers.stream().allMatch(each -> each.received.get() == 2));
  }

  @Test
  void handlerResumedBeforeItPauses_isAskedAgain() {
    CompletableFuture<MessageConsumer> opened = new CompletableFuture<>();
    CompletableFuture<List<Delivery>> received = new CompletableFuture<>();
    AtomicInteger asked = new AtomicInteger();
    MessageConsumer.Handler handler =
        new MessageConsumer.Handler() {
          @Override
          public void handle(List<Delivery> deliveries) {
            received.complete(deliveries);
          }

          @Override
          public long payloadBudget(long waitingBytes) {
            if (asked.incrementAndGet() > 1) {
              return DEFAULT_PAYLOAD_BUDGET;
            }
            opened.join().resume();
            return NOT_NOW;
          }
        };
    opened.complete(broker.consume("q", 1, handler));
    broker.enqueue("q", Message.of("m")).join();
    assertThat(received.orTimeout(60, TimeUnit.SECONDS).join()).hasSize(1);
  }

  @Test
  void resume_doesNothing_whileTheHandlerIsIdle() {
    Receiver receiver = new Receiver();
    receiver.ready = true;
    MessageConsumer consumer = broker.consume("q", 1, receiver);
    consumer.resume();
    broker.enqueue("q", Message.of("m")).join();
    await().atMost(PATIENCE).until(() -> receiver.received.get() == 1);
    consumer.close();
    consumer.resume();
    assertThat(broker.view().status()).isEqualTo(BrokerStatus.RUNNING);
  }

  /** Messages arrive about when the handler has handled those before. */
  @Test
  void handler_isAskedForItsBudget_beforeEachCall() {
    AtomicInteger unasked = new AtomicInteger();
    AtomicInteger received = new AtomicInteger();
    MessageConsumer.Handler handler =
        new MessageConsumer.Handler() {
          private boolean asked;

          @Override
          public void handle(List<Delivery> deliveries) {
            if (!asked) {
              unasked.incrementAndGet();
            }
            asked = false;
            received.addAndGet(deliveries.size());
          }

          @Override
          public long payloadBudget(long waitingBytes) {
            asked = true;
            return 0;
          }
        };
    broker.consume("q", MESSAGES, handler);
    for (int i = 0; i < MESSAGES; i++) {
      broker.enqueue("q", Message.of("m")).join();
    }
    await().atMost(PATIENCE).until(() -> received.get() == MESSAGES);
    assertThat(unasked).hasValue(0);
  }
}
