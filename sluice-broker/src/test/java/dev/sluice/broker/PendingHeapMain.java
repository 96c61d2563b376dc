package dev.sluice.broker;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Opens a broker and prints the outcome. Arguments: the directory, the number of messages to
 * enqueue, and {@code tenants} if each of them is to have a fairness key of its own, or {@code
 * dead} if as many as the heap holds are to become dead letters.
 */
final class PendingHeapMain {
  private static final int AT_ONCE = 1_000;

  private PendingHeapMain() {}

  public static void main(String[] arguments) throws Exception {
    long count = Long.parseLong(arguments[1]);
    boolean tenants = arguments[2].equals("tenants");
    boolean dead = arguments[2].equals("dead");
    try (Broker broker = Broker.open(Path.of(arguments[0]))) {
      if (broker.queue("q").isEmpty()) {
        broker.createQueue(
            "q",
            QueueConfig.builder().durability(Durability.OS).maxAttempts(dead ? 1 : 10).build());
      }
      if (dead && count > 0) {
        buryAll(broker, fill(broker, count, false));
      } else {
        fill(broker, count, tenants);
      }
      String queue = dead ? "q.dlq" : "q";
      int taken = 0;
      try (MessageConsumer consumer = broker.consume(queue, 100)) {
        taken = consumer.poll(1, Duration.ofSeconds(20)).size();
      }
      System.out.println("opened: " + broker.stats(queue).depth() + " " + (taken > 0));
    } catch (BrokerException refused) {
      System.out.println(refused.code() + ": " + refused.getMessage());
    }
    System.exit(0);
  }

  /** Enqueues {@code count} messages, or as many as the heap holds; returns their number. */
  private static long fill(Broker broker, long count, boolean tenants) {
    for (long done = 0; done < count; done += AT_ONCE) {
      List<Message> batch = new ArrayList<>();
      for (long i = done; i < Math.min(count, done + AT_ONCE); i++) {
        batch.add(Message.of("m").withFairnessKey(tenants ? "t" + i : "t"));
      }
      try {
        CompletableFuture<?> stored = broker.enqueueAll("q", batch);
        stored.join();
      } catch (CompletionException full) {
        return done;
      }
    }
    return count;
  }

  private static void buryAll(Broker broker, long count) throws InterruptedException {
    try (MessageConsumer consumer = broker.consume("q", AT_ONCE)) {
      for (long done = 0; done < count; ) {
        List<CompletableFuture<?>> failed = new ArrayList<>();
        for (Delivery each : consumer.poll(AT_ONCE, Duration.ofSeconds(20))) {
          failed.add(each.nack("no"));
        }
        failed.forEach(CompletableFuture::join);
        done += failed.size();
      }
    }
  }
}
