package dev.sluice.cli;

import dev.sluice.client.Producer;
import dev.sluice.client.ReceivedMessage;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A little of everything, so that there is something to look at in the console. */
final class DemoBackground {
  private static final Duration TICK = Duration.ofMillis(250);
  private static final int NOISY_EVERY = 40;
  private static final int NOISY_MESSAGES = 1_500;
  private static final int FAILING_EVERY = 60;
  private static final int PREFETCH = 64;
  private static final int WORKERS = 2;

  /** Of a class, for the model. */
  static final int MOST_IN_LINE = 12;

  private static final String FAILING = "a document that the provider refuses";

  /** A third more than the budget has, so that there is a line, which does not grow for ever. */
  private static final List<DemoCalls.Demand> DEMANDS =
      List.of(
          new DemoCalls.Demand("P0_clinical", 1, MOST_IN_LINE),
          new DemoCalls.Demand("P1_user", 4, MOST_IN_LINE),
          new DemoCalls.Demand("P2_batch", 3, MOST_IN_LINE));

  private DemoBackground() {}

  /** Goes on until the user wants no more. */
  static void play(DemoServer server, Pacer pacer) {
    long start = pacer.clock().nanoTime();
    try (SluiceClient client = Demo.connect(server);
        DemoCalls calls =
            new DemoCalls(
                client.governor(),
                new CallLog(),
                () -> TimeUnit.NANOSECONDS.toMillis(pacer.clock().nanoTime() - start),
                refused -> {})) {
      calls.begin(DEMANDS);
      Producer producer = client.producer(DemoScenario.QUEUE);
      var unused = client.subscribe(DemoScenario.QUEUE, PREFETCH, WORKERS, DemoBackground::work);
      for (long tick = 0; pacer.sleepUntil(start + tick * TICK.toNanos()); tick++) {
        send(producer, tick);
      }
      Thread.currentThread().interrupt();
    } finally {
      boolean unused = Thread.interrupted();
    }
  }

  private static void send(Producer producer, long tick) {
    int noisy = tick % NOISY_EVERY == 0 ? NOISY_MESSAGES : 0;
    for (int i = 0; i < noisy; i++) {
      var unused = producer.trySend(DemoTenants.message(DemoScenario.NOISY, "a document"));
    }
    var unused =
        producer.trySend(
            DemoTenants.message(
                DemoScenario.QUIET, tick % FAILING_EVERY == 0 ? FAILING : "a document"));
  }

  private static void work(ReceivedMessage message) {
    var unused =
        message.text().equals(FAILING) ? message.nack("the provider said 422") : message.ack();
  }
}
