package dev.sluice.bench.server;

import dev.sluice.bench.broker.BrokerRig;
import dev.sluice.bench.broker.OpenLoop;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * How long a message takes over a network, from the moment it was to be sent until a consumer has
 * it, at a rate that does not depend on the answers.
 */
final class WireOpenLoop {
  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long MOST_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final Wire wire;
  private final double perSecond;
  private final Histogram histogram = new Histogram(MOST_NANOS, 3);

  WireOpenLoop(Wire wire, double perSecond) {
    this.wire = wire;
    this.perSecond = perSecond;
  }

  OpenLoop.Latency measure(Duration warmUp, Duration measured) throws Exception {
    long start = System.nanoTime();
    long from = start + warmUp.toNanos();
    long messages = (long) (perSecond * (warmUp.plus(measured).toNanos() / 1e9));
    CompletableFuture<Void> received = new CompletableFuture<>();
    Thread receiver = new Thread(() -> receive(messages, from, received), "receiver");
    receiver.setDaemon(true);
    receiver.start();
    for (CompletableFuture<?> each : send(start, messages)) {
      each.get(1, TimeUnit.MINUTES);
    }
    received.get(1, TimeUnit.MINUTES);
    return new OpenLoop.Latency(
        histogram.getValueAtPercentile(50) / 1e6, histogram.getValueAtPercentile(99) / 1e6);
  }

  private List<CompletableFuture<?>> send(long start, long messages) throws Exception {
    List<CompletableFuture<?>> answers = new ArrayList<>();
    long sent = 0;
    for (long tick = start + TICK_NANOS; sent < messages; tick += TICK_NANOS) {
      for (long now; (now = System.nanoTime()) < tick; ) {
        LockSupport.parkNanos(tick - now);
      }
      for (long at; sent < messages && (at = start + (long) (sent * 1e9 / perSecond)) < tick; ) {
        byte[] payload = BrokerRig.payload((int) (sent++ & 63)).clone();
        ByteBuffer.wrap(payload).putLong(at);
        answers.add(wire.send(payload));
      }
    }
    return answers;
  }

  private void receive(long messages, long from, CompletableFuture<Void> received) {
    try {
      List<CompletableFuture<?>> acks = new ArrayList<>();
      for (long taken = 0; taken < messages; ) {
        List<Wire.Taken> some = wire.take(1_000, Duration.ofSeconds(30));
        long now = System.nanoTime();
        if (some.isEmpty()) {
          throw new IllegalStateException("lost: taken=" + taken + ", sent=" + messages);
        }
        for (Wire.Taken each : some) {
          long at = ByteBuffer.wrap(each.payload()).getLong();
          if (at >= from) {
            histogram.recordValue(Math.min(MOST_NANOS, now - at));
          }
          acks.add(each.ack());
        }
        taken += some.size();
      }
      for (CompletableFuture<?> ack : acks) {
        ack.get(1, TimeUnit.MINUTES);
      }
      received.complete(null);
    } catch (Throwable thrown) {
      received.completeExceptionally(thrown);
    }
  }
}
