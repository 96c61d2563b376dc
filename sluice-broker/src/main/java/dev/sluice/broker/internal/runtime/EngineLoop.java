package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.BrokerConfig;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.store.Store;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Runs the engine on its thread. */
final class EngineLoop implements Runnable {
  private static final long DISK_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final long DISK_CHECK_BYTES = 4L << 20;

  /** While a batch of this size waits for the one before it, messages wait outside. */
  private static final long MAX_BATCH_BYTES = 8L << 20;

  private final BrokerEngine engine;
  private final Inbox inbox;
  private final BrokerClock clock;
  private final Store store;
  private final BrokerConfig config;
  private final Consumer<CommitBatch> committer;
  private final Consumer<Throwable> onFailure;

  /** Whether the last batch is still being written; set by inputs, so on this thread alone. */
  private boolean writing;

  /** Bytes of messages that are not as durable yet as their queues ask for. */
  private long underWay;

  private long diskCheckedAt;
  private long spaceLeftAtCheck;

  EngineLoop(
      BrokerEngine engine,
      Inbox inbox,
      BrokerClock clock,
      Store store,
      BrokerConfig config,
      Consumer<CommitBatch> committer,
      Consumer<Throwable> onFailure) {
    this.engine = engine;
    this.inbox = inbox;
    this.clock = clock;
    this.store = store;
    this.config = config;
    this.committer = committer;
    this.onFailure = onFailure;
    this.diskCheckedAt = System.nanoTime() - DISK_CHECK_NANOS;
  }

  @Override
  public void run() {
    try {
      List<Consumer<BrokerEngine>> inputs = new ArrayList<>();
      long wakeUp = 0;
      // After the last input the last batch goes out.
      for (boolean last = false; !last; ) {
        last = inbox.isClosed();
        boolean budget = last || hasCapacity();
        inbox.drainTo(inputs, budget, last ? 0 : Math.max(0, clock.nanosUntil(wakeUp)));
        checkDisk();
        engine.advanceTo(clock.now());
        inputs.forEach(input -> input.accept(engine));
        inputs.clear();
        boolean ahead = writing && !last;
        wakeUp = ahead ? engine.tickAhead() : engine.tick();
        if (!ahead) {
          submit();
        }
      }
    } catch (Throwable failure) {
      onFailure.accept(failure);
    }
  }

  private void submit() {
    CommitBatch batch = engine.seal(clock.bootNanosAt(engine.state.now));
    if (batch != null) {
      writing = true;
      underWay += batch.bodyBytes;
      committer.accept(batch);
    }
  }

  private boolean hasCapacity() {
    return engine.state.batch.bodyBytes < MAX_BATCH_BYTES && underWay < config.maxInboundBytes();
  }

  /** Returns the queues; only for the thread of this loop. */
  Collection<BrokerQueue> queues() {
    return engine.state.queues.values();
  }

  /** Handles a written batch; an input. */
  void written(CommitBatch batch) {
    writing = false;
    if (!batch.needsSync()) {
      underWay -= batch.bodyBytes;
    }
    engine.apply(batch.whenWritten);
  }

  /** Handles synced batches; an input. */
  void synced(List<CommitBatch> batches) {
    for (CommitBatch batch : batches) {
      if (batch.needsSync()) {
        underWay -= batch.bodyBytes;
      }
      engine.apply(batch.whenSynced);
    }
  }

  private void checkDisk() {
    if (config.diskReserveBytes() == 0) {
      return;
    }
    long now = System.nanoTime();
    EngineState state = engine.state;
    if (now - diskCheckedAt >= DISK_CHECK_NANOS
        || spaceLeftAtCheck - state.diskSpaceLeft >= DISK_CHECK_BYTES
        || state.diskSpaceLeft <= 0) {
      diskCheckedAt = now;
      long free = Math.max(0, store.freeBytes()) - config.diskReserveBytes();
      // A message is written twice: to the log, and from memory to a table file.
      spaceLeftAtCheck = free / 2 - underWay - state.batch.bodyBytes;
      state.diskSpaceLeft = spaceLeftAtCheck;
    }
  }
}
