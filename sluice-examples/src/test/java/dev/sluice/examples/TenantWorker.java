package dev.sluice.examples;

import dev.sluice.Limit;
import dev.sluice.broker.Broker;
import dev.sluice.broker.Delivery;
import dev.sluice.broker.Message;
import dev.sluice.broker.MessageConsumer;
import dev.sluice.broker.QueueConfig;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** docs/recipes/multi-tenant-worker.md: one durable queue, tenants in turn, one provider. */
public final class TenantWorker {
  private final Broker broker;

  public TenantWorker(Broker broker) {
    this.broker = broker;
    if (!broker.queues().containsKey("outbox")) {
      broker.createQueue(
          "outbox",
          QueueConfig.builder()
              .maxAttempts(5) // then a dead letter, in outbox.dlq
              .maxDepthPerKey(100_000) // one tenant cannot fill the disk
              .maxInFlightPerKey(4) // nor take every worker
              .build());
    }
    broker.setLimit(
        "provider:ses", Limit.perSecond(14)); // what the provider takes, for all tenants
  }

  /** Done when it is on the disk. */
  public CompletableFuture<UUID> submit(String tenant, int weight, String mail) {
    return broker.enqueue(
        "outbox",
        Message.of(mail)
            .withFairnessKey(tenant)
            .withWeight(weight)
            .withThrottleKeys("provider:ses"));
  }

  /** Run it on as many threads as there are workers; an interrupt ends it. */
  public void work(Mailer mailer) throws InterruptedException {
    try (MessageConsumer consumer = broker.consume("outbox", 1)) { // one at a time: turns stay fair
      while (true) {
        Delivery delivery = consumer.take();
        try {
          mailer.send(
              delivery.fairnessKey(), new String(delivery.payload(), StandardCharsets.UTF_8));
          delivery.ack().join();
        } catch (RuntimeException failed) {
          delivery.nack(failed.toString()).join(); // again, behind its tenant's others
        }
      }
    }
  }

  /** Sends one mail; an exception is a failure. */
  public interface Mailer {
    void send(String tenant, String mail);
  }
}
