package dev.sluice.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limit;
import dev.sluice.broker.BrokerException.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Concurrent operations of every kind, and close() in the middle: every call completes. */
@Tag("long")
@Timeout(60)
final class BrokerStressTest {
  /** Those that stay, where messages are counted. */
  private static final List<String> STAYING = List.of("s0", "s1");

  /** Comes and goes. */
  private static final String PASSING = "x";

  private static final long LOAD_MILLIS = 2_000;

  private static final QueueConfig CONFIG =
      QueueConfig.builder()
          .leaseTimeout(Duration.ofSeconds(1))
          .maxAttempts(3)
          .retryDelay(Duration.ofMillis(20))
          .durability(Durability.OS)
          .build();

  @TempDir private Path dir;
  private Broker broker;

  private final Queue<CompletableFuture<?>> calls = new ConcurrentLinkedQueue<>();
  private final Queue<Throwable> surprises = new ConcurrentLinkedQueue<>();
  private final Set<Long> confirmed = ConcurrentHashMap.newKeySet();
  private final Set<Long> ackTried = ConcurrentHashMap.newKeySet();
  private final Set<Long> acked = ConcurrentHashMap.newKeySet();
  private final CountDownLatch busy = new CountDownLatch(1_500);

  /** One step of a worker, which ends with {@code STOPPED}. */
  private interface Step {
    void run() throws InterruptedException;
  }

  @Test
  void concurrentOperationsAndClose_completeEveryCall_andLoseNothing() throws Exception {
    Set<Thread> before = brokerThreads();
    broker = Broker.open(dir);
    STAYING.forEach(name -> broker.createQueue(name, CONFIG));
    List<Thread> workers = startWorkers();
    Thread.sleep(LOAD_MILLIS);
    assertThat(busy.await(20, TimeUnit.SECONDS)).as("enough was acknowledged").isTrue();
    broker.close();

    for (Thread worker : workers) {
      worker.join(TimeUnit.SECONDS.toMillis(10));
      assertThat(worker.isAlive()).as("%s waits for an answer", worker).isFalse();
    }
    assertThat(calls).as("answered").allMatch(CompletableFuture::isDone);
    assertThat(surprises.stream().map(BrokerStressTest::briefly).distinct()).isEmpty();
    await()
        .atMost(Duration.ofSeconds(5))
        .untilAsserted(() -> assertThat(brokerThreads()).isSubsetOf(before));
    assertConserved();
  }

  private static String briefly(Throwable surprise) {
    List<StackTraceElement> trace = List.of(surprise.getStackTrace());
    return surprise + " " + trace.subList(0, Math.min(4, trace.size()));
  }

  private static Set<Thread> brokerThreads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(thread -> !thread.getName().startsWith("sluice-"));
    return threads;
  }

  private List<Thread> startWorkers() {
    List<Thread> workers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      workers.add(producer(i));
      workers.add(puller(i));
    }
    workers.add(pusher());
    workers.add(operator());
    workers.add(administrator());
    workers.forEach(Thread::start);
    return workers;
  }

  private Thread worker(String name, Step step) {
    return new Thread(
        () -> {
          try {
            while (true) {
              try {
                step.run();
              } catch (BrokerException e) {
                if (e.code() == Code.STOPPED) {
                  return;
                }
                expect(e);
              }
            }
          } catch (Throwable e) {
            surprises.add(e);
          }
        },
        name);
  }

  /** Nothing but what has a reason here. */
  private void expect(Throwable failure) {
    Code code = KillConsumer.codeOf(failure);
    Set<Code> reasons =
        Set.of(
            Code.QUEUE_NOT_FOUND,
            Code.QUEUE_DELETED,
            Code.QUEUE_EXISTS,
            Code.LEASE_NOT_FOUND,
            Code.CONSUMER_CLOSED,
            Code.STOPPED);
    if (code == null || !reasons.contains(code)) {
      surprises.add(failure);
    }
  }

  private <T> CompletableFuture<T> call(CompletableFuture<T> call) {
    watch(call);
    return call;
  }

  private void watch(CompletableFuture<?> call) {
    calls.add(call);
    var unused =
        call.whenComplete(
            (done, failure) -> {
              if (failure != null) {
                expect(failure);
              }
            });
  }

  private Thread producer(int producer) {
    Semaphore open = new Semaphore(50);
    long[] next = {producer * 10_000_000L};
    Random random = new Random(producer);
    return worker(
        "producer",
        () -> {
          open.acquire();
          long number = next[0]++;
          boolean stays = random.nextInt(4) > 0;
          String queue = stays ? STAYING.get(random.nextInt(2)) : PASSING;
          var enqueued = call(broker.enqueue(queue, KillLoad.message(number)));
          var unused =
              enqueued.whenComplete(
                  (id, failure) -> {
                    if (failure == null && stays) {
                      confirmed.add(number);
                    }
                    open.release();
                  });
          if (enqueued.isDone() && enqueued.isCompletedExceptionally()) {
            // Tells the worker when the broker has ended.
            broker.stats("s0");
          }
        });
  }

  private Thread puller(int seed) {
    Random random = new Random(seed);
    return worker(
        "puller",
        () -> {
          String queue = random.nextInt(5) == 0 ? PASSING : STAYING.get(random.nextInt(2));
          try (MessageConsumer consumer = broker.consume(queue, random.nextInt(1, 100))) {
            for (int i = random.nextInt(1, 30); i > 0; i--) {
              consumer.poll(20, Duration.ofMillis(5)).forEach(each -> settle(each, random));
            }
          }
        });
  }

  private Thread pusher() {
    Random random = new Random(7);
    return worker(
        "pusher",
        () -> {
          Semaphore handled = new Semaphore(0);
          try (MessageConsumer consumer =
              broker.consume(
                  "s1",
                  20,
                  deliveries -> {
                    deliveries.forEach(each -> settle(each, random));
                    handled.release();
                  })) {
            handled.tryAcquire(20, 20, TimeUnit.MILLISECONDS);
            assertThat(consumer.queue()).isEqualTo("s1");
          }
        });
  }

  private void settle(Delivery delivery, Random random) {
    int choice = random.nextInt(20);
    if (choice == 0) {
      watch(delivery.nack("n"));
    } else if (choice == 1) {
      watch(delivery.release());
    } else if (choice == 2) {
      watch(delivery.extend(Duration.ofSeconds(2)));
    } else if (choice > 3) {
      long number = KillLoad.number(delivery.payload());
      ackTried.add(number);
      var unused =
          call(delivery.ack())
              .thenRun(
                  () -> {
                    if (!acked.add(number)) {
                      surprises.add(new AssertionError("acknowledged twice: " + number));
                    }
                    busy.countDown();
                  });
    }
  }

  private Thread operator() {
    Random random = new Random(8);
    return worker(
        "operator",
        () -> {
          switch (random.nextInt(6)) {
            case 0 -> broker.createQueue(PASSING, CONFIG);
            case 1 -> broker.deleteQueue(PASSING);
            case 2 -> broker.purgeQueue(PASSING);
            case 3 -> broker.view().browse(PASSING, null, 10, BrokerView.PreviewSize.ALL);
            case 4 -> broker.redrive("s0.dlq", random.nextInt(20), false);
            default -> broker.redrive("s1.dlq", 0, true);
          }
        });
  }

  private Thread administrator() {
    Random random = new Random(9);
    return worker(
        "administrator",
        () -> {
          switch (random.nextInt(7)) {
            case 0 -> broker.setLimit("t1", Limit.ofRate(random.nextInt(100, 10_000), 10));
            case 1 -> broker.removeLimit("t1");
            case 2 -> broker.setConfig("k", "v" + random.nextInt());
            case 3 -> broker.updateQueue("s0", is -> is.toBuilder().maxAttempts(4).build(), null);
            case 4 -> assertThat(broker.stats("s1").depth()).isNotNegative();
            case 5 -> assertThat(broker.view().limitStats().limits()).hasSizeLessThan(2);
            default -> assertThat(broker.queues()).containsKeys("s0", "s1.dlq");
          }
        });
  }

  /** After a restart there is what was confirmed, less what was acknowledged. */
  private void assertConserved() throws Exception {
    Set<Long> left = new HashSet<>();
    try (Broker again = Broker.open(dir)) {
      again.removeLimit("t1");
      for (String queue : List.of("s0", "s1", "s0.dlq", "s1.dlq")) {
        try (MessageConsumer consumer = again.consume(queue, 100)) {
          while (again.stats(queue).depth() > 0) {
            for (Delivery delivery : consumer.poll(100, Duration.ofMillis(100))) {
              assertThat(left.add(KillLoad.number(delivery.payload()))).as("one copy").isTrue();
              delivery.ack().join();
            }
          }
        }
      }
    }
    assertThat(left).doesNotContainAnyElementsOf(acked);
    Set<Long> lost = new HashSet<>(confirmed);
    lost.removeAll(ackTried);
    lost.removeAll(left);
    assertThat(lost).as("lost").isEmpty();
    assertThat(confirmed).hasSizeGreaterThan(1_000);
  }
}
