package dev.sluice.bench.broker;

import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * Measures the time from the moment at which a message was due to be sent until a consumer has it,
 * at a rate that does not depend on the answers: a stall of the broker delays every message that
 * was due meanwhile.
 */
public final class OpenLoop {
  /** Messages that are due within one tick are sent together at its end. */
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final long MOST_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final BrokerRig rig;
  private final Broker broker;
  private final double perSecond;
  private final Histogram histogram = new Histogram(MOST_NANOS, 3);
  private final List<CompletableFuture<?>> acks = new ArrayList<>();

  public OpenLoop(BrokerRig rig, double perSecond) {
    this.rig = rig;
    this.broker = rig.broker;
    this.perSecond = perSecond;
  }

  /** Milliseconds that half, and that 99 of 100 messages take at the most. */
  public record Latency(double p50, double p99) {}

  public Latency measure(Duration warmUp, Duration measured) throws Exception {
    long start = System.nanoTime();
    long from = start + warmUp.toNanos();
    long messages = (long) (perSecond * (warmUp.toNanos() + measured.toNanos()) / 1e9);
    try (MessageConsumer consumer = broker.consume(BrokerRig.QUEUE, 100_000)) {
      CompletableFuture<Void> received = new CompletableFuture<>();
      Thread receiver = new Thread(() -> receive(consumer, messages, from, received), "consumer");
      receiver.setDaemon(true);
      receiver.start();
      List<CompletableFuture<?>> enqueued = send(start, messages);
      received.get(1, TimeUnit.MINUTES);
      for (CompletableFuture<?> each : enqueued) {
        each.get(1, TimeUnit.MINUTES);
      }
      for (CompletableFuture<?> each : acks) {
        each.get(1, TimeUnit.MINUTES);
      }
    }
    rig.requireDepth(0);
    return new Latency(
        histogram.getValueAtPercentile(50) / 1e6, histogram.getValueAtPercentile(99) / 1e6);
  }

  private List<CompletableFuture<?>> send(long start, long messages) throws InterruptedException {
    List<CompletableFuture<?>> answers = new ArrayList<>();
    long sent = 0;
    for (long tick = start + TICK_NANOS; sent < messages; tick += TICK_NANOS) {
      for (long now; (now = System.nanoTime()) < tick; ) {
        LockSupport.parkNanos(tick - now);
      }
      List<Message> due = new ArrayList<>();
      for (long at; sent < messages && (at = start + (long) (sent * 1e9 / perSecond)) < tick; ) {
        due.add(dueAt(at, sent++));
      }
      if (!due.isEmpty()) {
        answers.add(BrokerRig.send(broker, BrokerRig.QUEUE, due));
      }
    }
    return answers;
  }

  private static Message dueAt(long at, long number) {
    byte[] payload = BrokerRig.payload((int) (number & 63)).clone();
    ByteBuffer.wrap(payload).putLong(at);
    return Message.of(payload);
  }

  private void receive(
      MessageConsumer consumer, long messages, long from, CompletableFuture<Void> received) {
    try {
      for (long taken = 0; taken < messages; ) {
        List<Delivery> deliveries = consumer.poll(1_000, Duration.ofSeconds(30));
        long now = System.nanoTime();
        if (deliveries.isEmpty()) {
          throw new IllegalStateException("lost: taken=" + taken + ", sent=" + messages);
        }
        for (Delivery delivery : deliveries) {
          long at = ByteBuffer.wrap(delivery.payload()).getLong();
          if (at >= from) {
            histogram.recordValue(Math.min(MOST_NANOS, now - at));
          }
        }
        taken += deliveries.size();
        acks.add(broker.ackAll(deliveries));
      }
      received.complete(null);
    } catch (Throwable thrown) {
      received.completeExceptionally(thrown);
    }
  }
}
