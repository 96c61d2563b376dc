package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.LimitStats;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Callers that go away while they receive. */
@Timeout(120)
final class ReceiveCallTest {
  private static final int MESSAGES = 40;

  @TempDir private Path dir;
  private Broker broker;

  @BeforeEach
  void open() {
    broker = Broker.open(dir);
    String script = "function on_enqueue(msg) return { throttle_keys = { 'key' } } end";
    broker.createQueue("q", QueueConfig.builder().onEnqueue(script).build());
    broker.setLimit("key", Limit.ofRate(0, MESSAGES));
  }

  @AfterEach
  void close() {
    broker.close();
  }

  private CompletableFuture<List<Delivery>> receive(int most, Duration wait) {
    return broker.receive("q", most, wait);
  }

  private double level() {
    return broker.view().limitStats().limits().stream().mapToDouble(LimitStats::level).sum();
  }

  private static void await(Callable<Boolean> condition) {
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(condition);
  }

  @Test
  void canceledCall_isRemoved() {
    List<WeakReference<Object>> calls = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      CompletableFuture<List<Delivery>> call = receive(1, Duration.ofHours(1));
      calls.add(new WeakReference<>(call));
      call.cancel(false);
    }
    await(
        () -> {
          System.gc();
          return calls.stream().allMatch(each -> each.get() == null);
        });
    assertThat(broker.stats("q").consumers()).isZero();
  }

  /** Each message, and each token, is returned by the cancel or by the released answer. */
  @Test
  void callsCanceledDuringTheirAnswer_loseNeitherMessagesNorTokens() throws Exception {
    for (int i = 0; i < MESSAGES; i++) {
      broker.enqueue("q", Message.of("m" + i)).join();
    }
    AtomicInteger canceled = new AtomicInteger();
    AtomicInteger answered = new AtomicInteger();
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      SplittableRandom random = new SplittableRandom(i);
      callers.add(new Thread(() -> callAndLeave(random, canceled, answered)));
    }
    callers.forEach(Thread::start);
    for (Thread caller : callers) {
      caller.join();
    }
    await(() -> broker.stats("q").inFlight() == 0);
    assertThat(level()).isEqualTo(MESSAGES);
    assertThat(receive(MESSAGES + 1, Duration.ZERO).join()).hasSize(MESSAGES);
    assertThat(canceled.get()).isPositive();
    assertThat(answered.get()).isPositive();
  }

  private void callAndLeave(
      SplittableRandom random, AtomicInteger canceled, AtomicInteger answered) {
    for (int i = 0; i < 700; i++) {
      Duration wait = random.nextBoolean() ? Duration.ZERO : Duration.ofSeconds(60);
      CompletableFuture<List<Delivery>> call = receive(1 + random.nextInt(8), wait);
      long until = System.nanoTime() + random.nextInt(2_000_000);
      while (!call.isDone() && System.nanoTime() - until < 0) {
        Thread.onSpinWait();
      }
      if (call.cancel(false)) {
        canceled.incrementAndGet();
      } else {
        answered.incrementAndGet();
        call.join().forEach(each -> each.release().join());
      }
    }
  }
}
