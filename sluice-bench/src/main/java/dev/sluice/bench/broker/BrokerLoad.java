package dev.sluice.bench.broker;

import dev.sluice.bench.measure.ProcessCpu;
import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/**
 * Producers and consumers of one queue, and the count of their answers. Nothing counts before its
 * future is completed.
 */
final class BrokerLoad {
  private static final Duration STUCK = Duration.ofSeconds(60);
  private static final Duration POLL = Duration.ofMillis(20);

  /**
   * How the queue is used.
   *
   * @param batch messages in one call of a producer
   * @param window messages that are on their way, from being enqueued until acknowledged
   * @param poll most messages in one call of a consumer, which acknowledges them in one
   * @param prefetch of a consumer
   */
  record Shape(int batch, int window, int poll, int prefetch) {
    static final Shape BATCHES = new Shape(100, 8_000, 1_000, 8_000);
    static final Shape SINGLE = new Shape(1, 8_000, 1_000, 8_000);
  }

  /**
   * How fast it went.
   *
   * @param cpuMicros CPU time of the whole process for one message, the load's own share included:
   *     unlike the speed it hardly depends on who else uses the machine
   */
  record Speed(double perSecond, double cpuMicros) {}

  /** Time and CPU time since it was made. */
  private static final class Meter {
    private final long from = System.nanoTime();
    private final long cpuFrom = ProcessCpu.nanos();

    Speed speed(long messages) {
      double cpuMicros = (ProcessCpu.nanos() - cpuFrom) / 1e3 / messages;
      return new Speed(messages * 1e9 / (System.nanoTime() - from), cpuMicros);
    }
  }

  private final BrokerRig rig;
  private final Broker broker;
  private final List<List<Message>> batches;
  private final Shape shape;
  private final Semaphore window;
  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong stored = new AtomicLong();
  private final AtomicLong acked = new AtomicLong();
  private final AtomicLong purged = new AtomicLong();
  private final AtomicLong unanswered = new AtomicLong();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  /** Permits of consumers that must leave the earlier backlog alone. */
  private final Semaphore gate = new Semaphore(0);

  private int turn;

  BrokerLoad(BrokerRig rig, List<List<Message>> batches, Shape shape) {
    this.rig = rig;
    this.broker = rig.broker;
    this.batches = batches;
    this.shape = shape;
    this.window = new Semaphore(shape.window());
  }

  /** A thread that runs until it is stopped. */
  private final class Worker extends Thread {
    private final Step step;
    private volatile boolean stopped;

    Worker(String name, Step step) {
      super(name);
      this.step = step;
      setDaemon(true);
      start();
    }

    @Override
    public void run() {
      try {
        while (!stopped) {
          step.run();
        }
      } catch (Throwable thrown) {
        failure.compareAndSet(null, thrown);
      }
    }

    void finish() throws InterruptedException {
      stopped = true;
      join(STUCK.toMillis());
      check();
    }
  }

  /** One round of a worker. */
  private interface Step {
    void run() throws InterruptedException;
  }

  // ---- what is measured

  /**
   * Messages per second that are enqueued, delivered and acknowledged while the window is kept
   * full. The depth of the queue stays the same: consumers take as many as are enqueued.
   */
  Speed lifecycle(Duration warmUp, Duration measured) throws InterruptedException {
    long before = depth();
    gate.drainPermits();
    Speed speed;
    try (MessageConsumer consumer = broker.consume(BrokerRig.QUEUE, shape.prefetch())) {
      Worker consuming =
          new Worker("consumer", before == 0 ? () -> consume(consumer) : () -> exchange(consumer));
      Worker producing = new Worker("producer", () -> produce(true));
      Thread.sleep(warmUp.toMillis());
      speed = rate(acked, measured);
      producing.finish();
      await(() -> depth() == before);
      consuming.finish();
    }
    settle();
    return speed;
  }

  /** Measures messages per second that are enqueued without consumers. */
  Speed enqueue(Duration warmUp, Duration measured) throws InterruptedException {
    Worker producing = new Worker("producer", () -> produce(false));
    Thread.sleep(warmUp.toMillis());
    Speed speed = rate(stored, measured);
    producing.finish();
    settle();
    return speed;
  }

  /** Measures messages per second that are delivered and acknowledged without producers. */
  Speed drain() throws InterruptedException {
    long messages = depth();
    Speed speed;
    try (MessageConsumer consumer = broker.consume(BrokerRig.QUEUE, shape.prefetch())) {
      Meter meter = new Meter();
      Worker consuming = new Worker("consumer", () -> consume(consumer));
      await(() -> depth() == 0);
      speed = meter.speed(messages);
      consuming.finish();
    }
    settle();
    return speed;
  }

  /** Enqueues that many messages and waits until they are stored. */
  void fill(long messages) throws InterruptedException {
    for (long i = 0; i < messages; i += shape.batch()) {
      produce(false);
    }
    settle();
  }

  /** Deletes the remaining messages, all of which must still exist. */
  void purge() {
    purged.addAndGet(broker.purgeQueue(BrokerRig.QUEUE));
    rig.requireDepth(0);
    rig.requireDepth(depth());
  }

  // ---- workers

  private void produce(boolean untilAcked) throws InterruptedException {
    List<Message> batch = batches.get(turn);
    turn = (turn + 1) % batches.size();
    window.acquire(batch.size());
    sent.addAndGet(batch.size());
    unanswered.incrementAndGet();
    var unused =
        BrokerRig.send(broker, BrokerRig.QUEUE, batch)
            .whenComplete(
                (ids, why) -> {
                  stored.addAndGet(why == null ? batch.size() : 0);
                  gate.release(batch.size());
                  if (!untilAcked) {
                    window.release(batch.size());
                  }
                  answered(why);
                });
  }

  private void consume(MessageConsumer consumer) throws InterruptedException {
    take(consumer, shape.poll());
  }

  /** Takes no more than producers have enqueued meanwhile. */
  private void exchange(MessageConsumer consumer) throws InterruptedException {
    int half = shape.poll() / 2;
    int most = gate.tryAcquire(half, POLL.toMillis(), TimeUnit.MILLISECONDS) ? half : 0;
    while (most < shape.poll() && gate.tryAcquire()) {
      most++;
    }
    if (most > 0) {
      gate.release(most - take(consumer, most));
    }
  }

  private int take(MessageConsumer consumer, int most) throws InterruptedException {
    List<Delivery> deliveries = consumer.poll(most, POLL);
    if (!deliveries.isEmpty()) {
      unanswered.incrementAndGet();
      var unused =
          broker
              .ackAll(deliveries)
              .whenComplete((refused, why) -> acknowledged(deliveries.size(), refused, why));
    }
    return deliveries.size();
  }

  private void acknowledged(int count, List<UUID> refused, Throwable why) {
    if (why == null && !refused.isEmpty()) {
      failure.compareAndSet(null, new IllegalStateException("leases ended: " + refused));
    }
    acked.addAndGet(why == null ? count : 0);
    window.release(count);
    answered(why);
  }

  private void answered(Throwable why) {
    if (why != null) {
      failure.compareAndSet(null, why);
    }
    unanswered.decrementAndGet();
  }

  // ---- counting

  private long depth() {
    return sent.get() - acked.get() - purged.get();
  }

  private Speed rate(AtomicLong count, Duration measured) throws InterruptedException {
    Meter meter = new Meter();
    long before = count.get();
    Thread.sleep(measured.toMillis());
    Speed speed = meter.speed(count.get() - before);
    check();
    return speed;
  }

  /** Waits for every answer, and compares the answers with the state of the broker. */
  private void settle() throws InterruptedException {
    await(() -> unanswered.get() == 0);
    window.drainPermits();
    window.release(shape.window());
    rig.requireDepth(depth());
  }

  private void await(BooleanSupplier condition) throws InterruptedException {
    long end = System.nanoTime() + STUCK.toNanos();
    while (!condition.getAsBoolean()) {
      check();
      if (System.nanoTime() > end) {
        throw new IllegalStateException(
            "the broker is stuck: sent=%d, stored=%d, acked=%d, unanswered=%d"
                .formatted(sent.get(), stored.get(), acked.get(), unanswered.get()));
      }
      Thread.sleep(1);
    }
    check();
  }

  private void check() {
    Throwable thrown = failure.get();
    if (thrown != null) {
      throw new IllegalStateException("the load failed", thrown);
    }
  }

  /** The messages of as many fairness keys, one each in turn. */
  static List<List<Message>> messages(int keys, int batch) {
    List<Message> each = new ArrayList<>();
    for (int i = 0; i < Math.max(keys, batch); i++) {
      each.add(BrokerRig.message(i).withFairnessKey(BrokerRig.key(i % keys)));
    }
    return BrokerRig.batches(each.size(), batch, each::get);
  }
}
