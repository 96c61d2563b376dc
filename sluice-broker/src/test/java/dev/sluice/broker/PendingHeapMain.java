package dev.sluice.broker;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Opens a broker and prints the outcome. Arguments: the directory, the number of messages to
 * enqueue, and {@code tenants} if each of them is to have a fairness key of its own.
 */
final class PendingHeapMain {
  private static final int AT_ONCE = 1_000;

  private PendingHeapMain() {}

  public static void main(String[] arguments) throws Exception {
    long count = Long.parseLong(arguments[1]);
    boolean tenants = arguments[2].equals("tenants");
    try (Broker broker = Broker.open(Path.of(arguments[0]))) {
      if (broker.queue("q").isEmpty()) {
        broker.createQueue("q", QueueConfig.builder().durability(Durability.OS).build());
      }
      for (long done = 0; done < count; done += AT_ONCE) {
        List<Message> batch = new ArrayList<>();
        for (long i = done; i < Math.min(count, done + AT_ONCE); i++) {
          batch.add(Message.of("m").withKey(tenants ? "t" + i : "t"));
        }
        CompletableFuture<?> stored = broker.enqueueAll("q", batch);
        stored.join();
      }
      int taken = 0;
      try (Consumer consumer = broker.consume("q", 100)) {
        taken = consumer.poll(1, Duration.ofSeconds(20)).size();
      }
      System.out.println("opened: " + broker.stats("q").depth() + " " + (taken > 0));
    } catch (BrokerException refused) {
      System.out.println(refused.code() + ": " + refused.getMessage());
    }
    System.exit(0);
  }
}
