package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.internal.runtime.LeasedDelivery;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Takes messages from a queue and settles them in every way, or not at all. */
final class KillConsumer implements Runnable {
  private static final int PREFETCH = 60;

  private final Broker broker;
  private final KillLog log;
  private final String queue;
  private final Random random;
  private final boolean churns;
  private final boolean acksAll;

  /** Deliveries without an attempt to settle them. */
  private final Map<LeaseToken, Delivery> mine = new ConcurrentHashMap<>();

  private final Deque<Held> held = new ArrayDeque<>();

  /** A delivery to acknowledge later, perhaps after its lease has ended. */
  private record Held(Delivery delivery, long dueNanos) {}

  /** One that closes and comes back now and then, if it {@code churns}. */
  KillConsumer(Broker broker, KillLog log, String queue, long seed, boolean churns) {
    this(broker, log, queue, new Random(seed), churns, false);
  }

  private KillConsumer(
      Broker broker, KillLog log, String queue, Random random, boolean churns, boolean acksAll) {
    this.broker = broker;
    this.log = log;
    this.queue = queue;
    this.random = random;
    this.churns = churns;
    this.acksAll = acksAll;
  }

  /** One that acknowledges everything. */
  static KillConsumer drain(Broker broker, KillLog log, String queue) {
    return new KillConsumer(broker, log, queue, new Random(0), false, true);
  }

  @Override
  public void run() {
    try {
      MessageConsumer consumer = broker.consume(queue, PREFETCH);
      while (!Thread.currentThread().isInterrupted()) {
        for (Delivery delivery : consumer.poll(10, Duration.ofMillis(20))) {
          got(delivery);
          handle(delivery);
        }
        while (!held.isEmpty() && held.peek().dueNanos < System.nanoTime()) {
          settle("ack", held.remove().delivery);
        }
        if (churns && random.nextInt(10) == 0) {
          log.add("close", queue);
          mine.values().forEach(each -> log.add("try", "release", word(each), wall()));
          mine.clear();
          held.clear();
          consumer.close();
          consumer = broker.consume(queue, PREFETCH);
        }
      }
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      if (!isStopped(e)) {
        log.broken("consumer", e);
      }
    }
  }

  private void got(Delivery delivery) {
    long number = KillLoad.number(delivery.payload());
    long leased = nanos(delivery) - KillLoad.LEASE.toNanos();
    String group = delivery.fairnessKey() + "/" + String.join("+", delivery.throttleKeys());
    mine.put(delivery.leaseToken(), delivery);
    log.add(
        "got",
        number,
        queue,
        group,
        delivery.id(),
        word(delivery),
        delivery.attempts(),
        leased,
        ((LeasedDelivery) delivery).storedId());
  }

  private static long nanos(Delivery delivery) {
    return Duration.between(Instant.EPOCH, delivery.leaseEndsAt()).toNanos();
  }

  private void handle(Delivery delivery) {
    int choice = acksAll ? 99 : random.nextInt(100);
    boolean poison = !acksAll && KillLoad.isPoison(KillLoad.number(delivery.payload()), queue);
    if (poison || choice < 8) {
      settle("nack", delivery);
    } else if (choice < 12) {
      settle("release", delivery);
    } else if (choice < 16) {
      extend(delivery);
      hold(delivery, 1_100);
    } else if (choice < 19) {
      hold(delivery, 1_200);
    } else if (choice >= 22) {
      settle("ack", delivery);
    }
    // Else it is forgotten, and its lease runs out.
  }

  private void hold(Delivery delivery, long millis) {
    held.add(new Held(delivery, System.nanoTime() + millis * 1_000_000));
  }

  private void extend(Delivery delivery) {
    Duration time = Duration.ofMillis(random.nextInt(1_200, 1_800));
    log.add("try", "extend", word(delivery), wall(), time.toNanos());
    answered("extend", word(delivery), delivery.extend(time));
  }

  private void settle(String operation, Delivery delivery) {
    mine.remove(delivery.leaseToken());
    log.add("try", operation, word(delivery), wall());
    CompletableFuture<Void> answer =
        switch (operation) {
          case "ack" -> delivery.ack();
          case "nack" -> delivery.nack("failed " + delivery.id());
          default -> delivery.release();
        };
    answered(operation, word(delivery), answer);
  }

  /** A consumer returns that had a lease before the broker was killed. */
  static void ackAgain(Broker broker, KillLog log, KillHistory.Lease lease) {
    String token = KillLog.word(lease.token);
    log.add("try", "ack", token, wall());
    answered(log, "ack", token, broker.ack(lease.queue, lease.id, lease.token));
  }

  private void answered(String operation, String token, CompletableFuture<Void> answer) {
    answered(log, operation, token, answer);
  }

  private static void answered(
      KillLog log, String operation, String token, CompletableFuture<Void> answer) {
    var unused =
        answer.whenComplete(
            (done, failure) -> {
              if (failure == null) {
                log.add("done", operation, token, wall());
              } else if (codeOf(failure) == Code.LEASE_NOT_FOUND) {
                log.add("late", operation, token, wall());
              } else if (!isStopped(failure)) {
                log.broken(operation, failure);
              }
            });
  }

  static @Nullable Code codeOf(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return cause instanceof BrokerException refused ? refused.code() : null;
  }

  static boolean isStopped(Throwable failure) {
    return codeOf(failure) == Code.STOPPED;
  }

  private static String word(Delivery delivery) {
    return KillLog.word(delivery.leaseToken());
  }

  static long wall() {
    return System.currentTimeMillis() * 1_000_000;
  }
}
