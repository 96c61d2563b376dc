package dev.sluice.broker;

import dev.sluice.broker.internal.engine.BatchEncoder;
import dev.sluice.broker.internal.engine.BrokerEngine;
import dev.sluice.broker.internal.engine.BrokerQueue;
import dev.sluice.broker.internal.engine.CommitBatch;
import dev.sluice.broker.internal.engine.Completion;
import dev.sluice.broker.internal.engine.ConsumerState;
import dev.sluice.broker.internal.engine.Dispatcher;
import dev.sluice.broker.internal.engine.EngineState;
import dev.sluice.broker.internal.engine.InternedPlacement;
import dev.sluice.broker.internal.engine.PendingDelivery;
import dev.sluice.broker.internal.engine.PreparedMessage;
import dev.sluice.broker.internal.engine.Recovery;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Runs the state machine of a broker over a store in memory, on one thread and a manual clock. */
abstract class EngineFixture implements EngineState.EngineCallbacks {
  static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  SimStore store = new SimStore();
  final List<PendingDelivery> delivered = new ArrayList<>();
  boolean hasHook;
  long now = 1_000 * SECOND;
  BrokerEngine engine = recover();

  private BrokerEngine recover() {
    return Recovery.recover(store, new Recovery.Start(now, now, "boot"), this, BrokerMetrics.NONE);
  }

  /** Kills the broker and starts it again from what is stored. */
  void kill() {
    store = store.reopen();
    engine = recover();
  }

  void enqueue(int messages) {
    enqueue(messages, 0);
  }

  void enqueue(int messages, long delayNanos) {
    engine.enqueueHandler.enqueue(
        "q", submissions(messages, delayNanos), new CompletableFuture<>());
  }

  /** Returns messages of one byte each. */
  static List<PreparedMessage> submissions(int messages, long delayNanos) {
    InternedPlacement.Spec route =
        new InternedPlacement.Spec("k", 1, 0, Collections.emptySortedMap());
    byte[] body = MessageEnvelope.encode(Map.of(), new byte[1]);
    return Collections.nCopies(
        messages, new PreparedMessage(route, body, delayNanos, 0, null, false));
  }

  /** Adds what it gets to {@link #delivered}. */
  class Receiver implements ConsumerState.DeliveryTarget {
    @Override
    public void deliver(List<PendingDelivery> batch) {
      delivered.addAll(batch);
    }

    @Override
    public void closed(BrokerException why) {}
  }

  void consume(int credit) {
    engine.dispatcher.open(
        "q",
        new Dispatcher.ConsumerRegistration(
            credit, false, new Receiver(), new CompletableFuture<>()));
    for (int i = 0; i < 20; i++) {
      step();
    }
  }

  /** Runs what is due, and stores it. */
  void step() {
    engine.advanceTo(now);
    engine.tick();
    commit();
  }

  void commit() {
    CommitBatch batch = engine.seal(now);
    if (batch != null) {
      BatchEncoder.write(batch, store);
      store.sync();
      batch.deliveries.forEach(handover -> handover.consumer().target.deliver(List.of(handover)));
      batch.whenWritten.completions.forEach(Completion::complete);
      engine.apply(batch.whenWritten);
      batch.whenSynced.completions.forEach(Completion::complete);
      engine.apply(batch.whenSynced);
    }
  }

  @Override
  public void reject(CompletableFuture<?> future, BrokerException why) {
    throw why;
  }

  /** Its answer takes longer than the broker lives. */
  @Override
  public void runFailureHook(EngineState.FailureHookRequest question) {}

  @Override
  public boolean hasFailureHook(BrokerQueue line) {
    return hasHook;
  }

  @Override
  public void queuesChanged() {}

  @Override
  public void configChanged(String key, String value) {}
}
