package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.runtime.PendingCalls;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.store.StoreException;
import dev.sluice.broker.internal.store.rocks.RocksStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Calls that meet a change of the broker are answered, and with the truth. */
@Timeout(60)
final class BrokerAnswersTest {
  @TempDir private Path dir;

  /** Holds up the thread of the state machine at a message of the queue {@code gate}. */
  private static final class Gate implements BrokerMetrics {
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch open = new CountDownLatch(1);

    @Override
    public void enqueued(String queue, String key) {
      if (queue.equals("gate")) {
        reached.countDown();
        PendingCalls.await(CompletableFuture.runAsync(this::pass));
      }
    }

    private void pass() {
      try {
        open.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    Broker shut(Path dir) throws InterruptedException {
      Broker broker = Broker.open(dir, BrokerConfig.builder().metrics(this).build());
      broker.createQueue("gate");
      CompletableFuture<UUID> held = broker.enqueue("gate", Message.of("m"));
      reached.await();
      assertThat(held).isNotDone();
      return broker;
    }
  }

  private static CompletableFuture<Void> async(Runnable call) {
    return CompletableFuture.runAsync(call, task -> new Thread(task).start());
  }

  /** A caller whose messages are stored gets their ids. */
  @Test
  void enqueue_whileTheQueueIsCreated_storesOrFails() throws Exception {
    Gate gate = new Gate();
    try (Broker broker = gate.shut(dir)) {
      CountDownLatch begun = new CountDownLatch(1);
      CompletableFuture<Void> made =
          async(
              () -> {
                begun.countDown();
                broker.createQueue("q");
              });
      begun.await();
      List<CompletableFuture<List<UUID>>> calls = new ArrayList<>();
      // One of them at the latest comes after the order to make the queue.
      for (int i = 0; i < 2_000; i++) {
        calls.add(broker.enqueueAll("q", List.of(Message.of("a"), Message.of("b"))));
        Thread.onSpinWait();
      }
      gate.open.countDown();
      made.join();
      long stored = 0;
      for (CompletableFuture<List<UUID>> call : calls) {
        try {
          assertThat(call.join()).as("ids of two messages").hasSize(2);
          stored += 2;
        } catch (CompletionException e) {
          assertThat(KillConsumer.codeOf(e)).isEqualTo(Code.QUEUE_NOT_FOUND);
        }
      }
      assertThat(broker.stats("q").depth()).isEqualTo(stored);
    }
  }

  @Test
  void enqueue_whileTheBrokerCloses_failsWithStopped() throws Exception {
    Gate gate = new Gate();
    Broker broker = gate.shut(dir);
    CompletableFuture<Void> closed = async(broker::close);
    CompletableFuture<UUID> refused;
    do {
      refused = broker.enqueue("gate", Message.of("m"));
    } while (!refused.isDone());
    gate.open.countDown();
    closed.join();
    assertThat(refused.handle((id, failure) -> KillConsumer.codeOf(failure)).join())
        .isEqualTo(Code.STOPPED);
  }

  @Test
  void poll_whileTheBrokerStops_failsWithStopped() throws Exception {
    AtomicBoolean fails = new AtomicBoolean();
    try (Broker broker = KillMain.over(failing(RocksStore.open(dir), fails))) {
      broker.createQueue("q");
      MessageConsumer consumer = broker.consume("q.dlq", 1);
      CompletableFuture<Void> waiting = async(() -> take(consumer));
      fails.set(true);
      assertThatThrownBy(() -> broker.enqueue("q", Message.of("m")).join())
          .satisfies(e -> assertThat(KillConsumer.codeOf(e)).isEqualTo(Code.STOPPED));
      assertThat(waiting)
          .failsWithin(5, TimeUnit.SECONDS)
          .withThrowableOfType(ExecutionException.class)
          .satisfies(e -> assertThat(KillConsumer.isStopped(e.getCause())).isTrue());
    }
  }

  private static void take(MessageConsumer consumer) {
    try {
      consumer.take();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void browse_ofAClosedBroker_failsWithStopped() {
    Broker broker = Broker.open(dir);
    broker.createQueue("q");
    broker.close();
    assertThatThrownBy(() -> broker.view().browse("q", null, 1, BrokerView.PreviewSize.ALL))
        .isInstanceOfSatisfying(
            BrokerException.class, e -> assertThat(e.code()).isEqualTo(Code.STOPPED));
  }

  /** A store that does not sync from some time on. */
  private static Store failing(Store store, AtomicBoolean fails) {
    return (Store)
        Proxy.newProxyInstance(
            Store.class.getClassLoader(),
            new Class<?>[] {Store.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("sync") && fails.get()) {
                throw new StoreException("sync: the disk is gone");
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
