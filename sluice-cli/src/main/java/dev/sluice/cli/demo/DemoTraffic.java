package dev.sluice.cli.demo;

import dev.sluice.cli.runtime.CommandTimer;
import dev.sluice.client.Delivery;
import dev.sluice.client.Producer;
import dev.sluice.client.ProducerConfig;
import dev.sluice.client.SluiceClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A little of everything, so that there is something to look at in the console. */
public final class DemoTraffic {
  private static final Duration TICK = Duration.ofMillis(250);
  private static final int NOISY_EVERY = 40;
  private static final int NOISY_MESSAGES = 1_500;
  private static final int FAILING_EVERY = 60;
  private static final int PREFETCH = 64;
  private static final int WORKERS = 2;

  /** The most waiting requests of a class. */
  public static final int MOST_IN_LINE = 12;

  private static final String FAILING = "a document that the provider refuses";

  /** A third more than the budget has, so that there is a line, which does not grow for ever. */
  private static final List<DemoModelCallers.CallerLoad> DEMANDS =
      List.of(
          new DemoModelCallers.CallerLoad("P0_clinical", 1, MOST_IN_LINE),
          new DemoModelCallers.CallerLoad("P1_user", 4, MOST_IN_LINE),
          new DemoModelCallers.CallerLoad("P2_batch", 3, MOST_IN_LINE));

  private DemoTraffic() {}

  /** Goes on until the user wants no more. */
  public static void play(DemoServer server, CommandTimer timer) {
    long start = timer.clock().nanoTime();
    try (SluiceClient client = DemoRunner.connect(server);
        DemoModelCallers calls =
            new DemoModelCallers(
                client.governor(),
                new ModelCallLog(),
                () -> TimeUnit.NANOSECONDS.toMillis(timer.clock().nanoTime() - start),
                refused -> {})) {
      calls.begin(DEMANDS);
      Producer producer = client.producer(DemoScenario.QUEUE, ProducerConfig.defaults());
      var unused = client.consume(DemoScenario.QUEUE, PREFETCH, WORKERS, DemoTraffic::work);
      for (long tick = 0; timer.sleepUntil(start + tick * TICK.toNanos()); tick++) {
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

  private static void work(Delivery message) {
    var unused =
        message.text().equals(FAILING) ? message.nack("the provider said 422") : message.ack();
  }
}
