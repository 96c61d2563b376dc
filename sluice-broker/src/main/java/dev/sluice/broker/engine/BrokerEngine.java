package dev.sluice.broker.engine;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state machine: inputs with their time go in; facts to store, and what may happen once they
 * are stored, come out as batches.
 *
 * <p>Belongs to one thread at a time; reads no clock, no payload and no file. Given the same inputs
 * it does the same.
 */
public final class BrokerEngine {
  /** Messages to hand out, or timers to see to, before inputs get their turn again. */
  private static final int AT_ONCE = 512;

  public final EngineState state;
  public final Dispatcher dispatcher;
  public final EnqueueHandler enqueueHandler;
  public final FailureHandler failureHandler;
  public final QueueAdmin queueAdmin;

  BrokerEngine(EngineState state) {
    this.state = state;
    this.dispatcher = new Dispatcher(state);
    this.enqueueHandler = new EnqueueHandler(state);
    this.failureHandler = new FailureHandler(state, dispatcher);
    this.queueAdmin = new QueueAdmin(state, dispatcher, enqueueHandler);
  }

  /** Broker time; goes on only. */
  public void advanceTo(long now) {
    state.now = Math.max(state.now, now);
  }

  /**
   * Does what is due and hands out what can go.
   *
   * @return when to come back if nothing comes in before
   */
  public long tick() {
    boolean more = queueAdmin.runTask();
    for (int i = 0; i < AT_ONCE; i++) {
      EngineTimer due = state.timers.pollDue(state.now);
      if (due == null) {
        break;
      }
      fire(due);
    }
    long next = dispatcher.deliver(AT_ONCE);
    return more ? state.now : Math.min(next, state.timers.firstDue());
  }

  private void fire(EngineTimer due) {
    if (due instanceof Lease lease) {
      failureHandler.expire(lease);
    } else if (due instanceof MessageTimer alarm) {
      failureHandler.fire(alarm);
    } else if (due instanceof EnqueueHandler.DedupeTimer forgetting) {
      enqueueHandler.forget(forgetting);
    } else if (due instanceof PendingReceive receive) {
      dispatcher.receives.expire(receive);
    } else {
      throw new IllegalStateException("unknown timer: " + due);
    }
  }

  /**
   * What has come together since the last time.
   *
   * @param bootNanos the present on a clock that counts since the machine started
   * @return null if there is nothing
   */
  public @Nullable CommitBatch seal(long bootNanos) {
    CommitBatch sealed = state.batch;
    if (sealed.isEmpty()) {
      return null;
    }
    sealed.levels =
        sealed.touchedLimits.stream()
            .flatMap(key -> state.scheduler.limitStats(key, state.now).stream())
            .map(stats -> new CommitBatch.Level(stats.name(), stats.level(), state.now))
            .toList();
    sealed.meta =
        new CommitBatch.Meta(
            state.now,
            bootNanos,
            state.nextSequence,
            state.nextQueueId,
            state.index.lowWaterMark(state.nextSequence));
    sealed.storesLeases = sealed.leases.references > 0;
    state.batch = new CommitBatch(state.epoch, sealed.number + 1);
    return sealed;
  }

  /** Something came to be as durable as asked for: what waited for it can go on. */
  public void apply(CommitBatch.Effects effects) {
    List<MessageEntry> ready = effects.ready;
    for (int i = 0; i < ready.size(); i++) {
      state.makeAvailable(ready.get(i), state.now);
    }
    effects.actions.forEach(Runnable::run);
  }
}
