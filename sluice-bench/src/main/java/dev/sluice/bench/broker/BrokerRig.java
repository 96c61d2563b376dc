package dev.sluice.bench.broker;

import dev.sluice.Limit;
import dev.sluice.bench.measure.Scratch;
import dev.sluice.broker.Broker;
import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.Durability;
import dev.sluice.broker.Message;
import dev.sluice.broker.QueueConfig;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntFunction;

/** A broker in a folder of its own, which is deleted with it. */
public final class BrokerRig implements AutoCloseable {
  static final String QUEUE = "bench";
  public static final int PAYLOAD_BYTES = 1_024;

  /** Random, so that no compression makes them smaller. */
  private static final List<byte[]> PAYLOADS = payloads(64);

  /** Callers that set rates at once: one call waits for the disk. */
  private static final int ADMINS = 64;

  private final Path folder;
  public final Broker broker;

  public BrokerRig(Path folder, QueueConfig queue) {
    this(folder, queue, BrokerConfig.defaults());
  }

  public BrokerRig(Path folder, QueueConfig queue, BrokerConfig config) {
    this.folder = folder;
    this.broker = Broker.open(folder, config);
    broker.createQueue(QUEUE, queue);
  }

  public static QueueConfig queue(Durability durability) {
    return QueueConfig.builder().durability(durability).build();
  }

  private static List<byte[]> payloads(int count) {
    Random random = new Random(1);
    List<byte[]> payloads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] payload = new byte[PAYLOAD_BYTES];
      random.nextBytes(payload);
      payloads.add(payload);
    }
    return payloads;
  }

  public static byte[] payload(int i) {
    return PAYLOADS.get(i % PAYLOADS.size());
  }

  /** A message of 1 KB. */
  public static Message message(int i) {
    return Message.of(payload(i));
  }

  /** Batches that take turns over {@code count} messages. */
  static List<List<Message>> batches(int count, int size, IntFunction<Message> message) {
    List<List<Message>> batches = new ArrayList<>();
    for (int from = 0; from < count; from += size) {
      List<Message> batch = new ArrayList<>(size);
      for (int i = from; i < from + size; i++) {
        batch.add(message.apply(i % count));
      }
      batches.add(List.copyOf(batch));
    }
    return batches;
  }

  /** Enqueues, again and again while the broker is busy. */
  public static CompletableFuture<List<UUID>> send(Broker broker, String queue, List<Message> batch)
      throws InterruptedException {
    for (; ; ) {
      CompletableFuture<List<UUID>> sent = broker.enqueueAll(queue, batch);
      if (!isBusy(sent)) {
        return sent;
      }
      Thread.sleep(1);
    }
  }

  private static boolean isBusy(CompletableFuture<?> sent) {
    return sent.isCompletedExceptionally()
        && sent.<Boolean>handle(
                (done, why) ->
                    why instanceof BrokerException refused
                        && refused.code() == BrokerException.Code.BUSY)
            .getNow(false);
  }

  /** Gives throttle keys 0 to {@code count} a rate. */
  void setThrottles(int count, double perSecond, double burst) throws Exception {
    ExecutorService admins = Executors.newFixedThreadPool(ADMINS);
    try {
      List<Future<?>> set = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        String key = throttle(i);
        set.add(admins.submit(() -> broker.setLimit(key, Limit.ofRate(perSecond, burst))));
      }
      for (Future<?> each : set) {
        each.get();
      }
    } finally {
      admins.shutdown();
    }
  }

  static String throttle(int i) {
    return "throttle-" + i;
  }

  static String key(int i) {
    return "tenant-" + i;
  }

  /** Fails unless the queue holds so many messages. */
  void requireDepth(long expected) {
    long depth = broker.stats(QUEUE).depth();
    if (depth != expected) {
      throw new IllegalStateException(
          "messages are lost or too many: depth=%d, expected=%d".formatted(depth, expected));
    }
  }

  @Override
  public void close() {
    broker.close();
    Scratch.delete(folder);
  }
}
