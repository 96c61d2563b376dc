package dev.sluice.broker;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Runs the state machine of a broker over a store in memory, on one thread and a manual clock. */
abstract class EngineFixture implements BrokerState.Outputs {
  static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  SimStore store = new SimStore();
  final List<Handover> delivered = new ArrayList<>();
  boolean hasHook;
  long now = 1_000 * SECOND;
  Engine engine = recover();

  private Engine recover() {
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
    engine.intake.enqueue("q", submissions(messages, delayNanos), new CompletableFuture<>());
  }

  /** Returns messages of one byte each. */
  static List<Submission> submissions(int messages, long delayNanos) {
    Route.Spec route = new Route.Spec("k", 1, 0, Collections.emptySortedMap());
    byte[] body = Envelope.encode(Map.of(), new byte[1]);
    return Collections.nCopies(messages, new Submission(route, body, delayNanos, 0, null, false));
  }

  /** Adds what it gets to {@link #delivered}. */
  class Receiver implements Subscriber.Outlet {
    @Override
    public void deliver(List<Handover> batch) {
      delivered.addAll(batch);
    }

    @Override
    public void closed(BrokerException why) {}
  }

  void consume(int credit) {
    engine.dispatch.open(
        "q", new Dispatch.Subscription(credit, false, new Receiver(), new CompletableFuture<>()));
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
    Batch batch = engine.seal(now);
    if (batch != null) {
      BatchRows.write(batch, store);
      store.sync();
      batch.handovers.forEach(handover -> handover.to().outlet.deliver(List.of(handover)));
      batch.whenWritten.answers.forEach(Answer::give);
      engine.apply(batch.whenWritten);
      batch.whenSynced.answers.forEach(Answer::give);
      engine.apply(batch.whenSynced);
    }
  }

  @Override
  public void refuse(CompletableFuture<?> future, BrokerException why) {
    throw why;
  }

  /** Its answer takes longer than the broker lives. */
  @Override
  public void askFailureHook(BrokerState.FailureQuestion question) {}

  @Override
  public boolean hasFailureHook(Line line) {
    return hasHook;
  }

  @Override
  public void queuesChanged() {}

  @Override
  public void configChanged(String key, String value) {}
}
