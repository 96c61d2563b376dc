package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.BrokerMetrics;
import dev.sluice.broker.internal.engine.BatchEncoder;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.store.Store;
import dev.sluice.broker.internal.util.Threads;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Writes batches and makes them durable, on two threads: while one sync runs, what is written
 * meanwhile comes together for the next.
 */
final class Committer {
  /** Ends a thread. */
  private static final CommitBatch END = new CommitBatch(0, 0);

  private final Store store;
  private final BrokerMetrics metrics;
  private final long syncIntervalNanos;
  private final Listener listener;
  private final BlockingQueue<CommitBatch> toWrite = new LinkedBlockingQueue<>();
  private final BlockingQueue<CommitBatch> toSync = new LinkedBlockingQueue<>();
  private final Thread writer;
  private final Thread syncer;

  /** Told how far batches are. */
  interface Listener {
    void written(CommitBatch batch);

    void synced(List<CommitBatch> batches);

    /** The store failed; nothing more is written. */
    void failed(Throwable reason);
  }

  Committer(Store store, BrokerConfig config, Listener listener) {
    this.store = store;
    this.metrics = config.metrics();
    this.syncIntervalNanos = config.syncInterval().toNanos();
    this.listener = listener;
    this.writer = new Thread(() -> guard(this::writeAll), "sluice-writer");
    this.syncer = new Thread(() -> guard(this::syncAll), "sluice-syncer");
  }

  void start() {
    writer.start();
    syncer.start();
  }

  void submit(CommitBatch batch) {
    toWrite.add(batch);
  }

  /** Ends once everything submitted is written and synced. */
  void finish() {
    toWrite.add(END);
    Threads.join(writer);
    Threads.join(syncer);
  }

  /** A step that may be interrupted. */
  private interface Work {
    void run() throws InterruptedException;
  }

  private void guard(Work work) {
    try {
      work.run();
    } catch (Throwable failure) {
      toSync.add(END);
      listener.failed(failure);
    }
  }

  private void writeAll() throws InterruptedException {
    for (CommitBatch batch; (batch = toWrite.take()) != END; ) {
      long from = System.nanoTime();
      long bytes = BatchEncoder.write(batch, store);
      metrics.written(batch.changes.size(), bytes, System.nanoTime() - from);
      batch.changes.clear(); // a slow disk must not keep messages in memory
      hand(batch.deliveries);
      batch.deliveries.clear();
      listener.written(batch);
      toSync.add(batch);
    }
    toSync.add(END);
  }

  /** Leases are written: their holders get the messages. */
  private static void hand(List<PendingDelivery> deliveries) {
    if (deliveries.isEmpty()) {
      return;
    }
    Map<ConsumerState, List<PendingDelivery>> byHolder = new LinkedHashMap<>();
    for (PendingDelivery delivery : deliveries) {
      byHolder.computeIfAbsent(delivery.consumer(), absent -> new ArrayList<>()).add(delivery);
    }
    byHolder.forEach((holder, batch) -> holder.target.deliver(batch));
  }

  private void syncAll() throws InterruptedException {
    List<CommitBatch> waiting = new ArrayList<>();
    boolean ended = false;
    while (!ended) {
      ended = collect(waiting);
      if (!waiting.isEmpty()) {
        long from = System.nanoTime();
        store.sync();
        metrics.synced(System.nanoTime() - from);
        listener.synced(List.copyOf(waiting));
        waiting.clear();
      }
    }
  }

  /** Collects batches until one of them wants to be synced; returns whether there will be more. */
  private boolean collect(List<CommitBatch> waiting) throws InterruptedException {
    long deadline = Long.MAX_VALUE;
    for (; ; ) {
      CommitBatch next = take(deadline);
      if (next == END) {
        return true;
      }
      if (next == null) {
        return false;
      }
      waiting.add(next);
      while ((next = toSync.poll()) != null) {
        if (next == END) {
          return true;
        }
        waiting.add(next);
      }
      if (waiting.stream().anyMatch(CommitBatch::needsSync)) {
        return false;
      }
      if (deadline == Long.MAX_VALUE && waiting.stream().anyMatch(batch -> batch.syncSoon)) {
        deadline = System.nanoTime() + syncIntervalNanos;
      }
      if (deadline == Long.MAX_VALUE) {
        // No caller waits for the disk: the operating system decides when to write.
        waiting.clear();
      }
    }
  }

  private @Nullable CommitBatch take(long deadline) throws InterruptedException {
    return deadline == Long.MAX_VALUE
        ? toSync.take()
        : toSync.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
  }
}
