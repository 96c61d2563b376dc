package dev.sluice.bench.server;

import dev.sluice.bench.broker.BrokerRig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Producers and consumers of one queue over a network, one of each on every connection. A message
 * counts when its acknowledgement is confirmed, where the broker confirms it.
 */
final class WireLoad {
  private static final int BATCH = 100;
  private static final int POLL = 1_000;
  private static final Duration TIMEOUT = Duration.ofMillis(50);
  private static final Duration STUCK = Duration.ofSeconds(30);

  private final List<? extends Wire> wires;
  private final int messagesOnTheirWay;
  private final Semaphore window;
  private final AtomicLong acked = new AtomicLong();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();
  private volatile boolean producing = true;
  private volatile boolean consuming = true;

  /** So many messages are on their way, from being sent until acknowledged. */
  WireLoad(List<? extends Wire> wires, int messagesOnTheirWay) {
    this.wires = wires;
    this.messagesOnTheirWay = messagesOnTheirWay;
    this.window = new Semaphore(messagesOnTheirWay);
  }

  /** The loop of a thread. */
  private interface Work {
    void run(Wire wire) throws Exception;
  }

  /** Messages a second that are stored, delivered and acknowledged. */
  double lifecycle(Duration warmUp, Duration measured) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (Wire wire : wires) {
      threads.add(start("producer", this::produce, wire));
      threads.add(start("consumer", this::consume, wire));
    }
    Thread.sleep(warmUp.toMillis());
    long from = System.nanoTime();
    long before = acked.get();
    Thread.sleep(measured.toMillis());
    double perSecond = (acked.get() - before) * 1e9 / (System.nanoTime() - from);
    producing = false;
    if (failure.get() == null && !allAcknowledged()) {
      failure.compareAndSet(null, new IllegalStateException("messages are lost or stuck"));
    }
    consuming = false;
    for (Thread thread : threads) {
      thread.join(STUCK.toMillis());
    }
    if (failure.get() != null) {
      throw new IllegalStateException("the load failed", failure.get());
    }
    return perSecond;
  }

  private boolean allAcknowledged() throws InterruptedException {
    return window.tryAcquire(messagesOnTheirWay, STUCK.toMillis(), TimeUnit.MILLISECONDS);
  }

  private Thread start(String name, Work work, Wire wire) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run(wire);
              } catch (Throwable thrown) {
                failed(thrown);
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void failed(Throwable thrown) {
    if (thrown != null) {
      failure.compareAndSet(null, thrown);
      producing = false;
      consuming = false;
    }
  }

  private void produce(Wire wire) throws Exception {
    while (producing) {
      window.acquire(BATCH);
      if (!producing) {
        window.release(BATCH);
        return;
      }
      for (int i = 0; i < BATCH; i++) {
        var unused =
            wire.send(BrokerRig.payload(i)).whenComplete((stored, refused) -> failed(refused));
      }
    }
  }

  private void consume(Wire wire) throws Exception {
    while (consuming) {
      for (Wire.Taken taken : wire.take(POLL, TIMEOUT)) {
        var unused =
            taken
                .ack()
                .whenComplete(
                    (done, refused) -> {
                      failed(refused);
                      acked.incrementAndGet();
                      window.release();
                    });
      }
    }
  }
}
