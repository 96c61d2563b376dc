package dev.sluice.broker.internal.engine;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state machine of a broker: takes inputs with their time; returns batches of changes to store,
 * with the effects that follow once they are stored.
 *
 * <p>Belongs to one thread at a time; reads no clock, no payload and no file. Deterministic.
 */
public final class BrokerEngine {
  /** The most messages to deliver, and timers to fire, between two rounds of inputs. */
  private static final int AT_ONCE = 512;

  /**
   * The most changes that timers and long work add to one batch, but for one step. Otherwise the
   * next batch grows for as long as one is being written, and takes the longer to write itself.
   */
  static final int MAX_WORK = 4_096;

  public final EngineState state;
  public final Dispatcher dispatcher;
  public final EnqueueHandler enqueueHandler;
  public final FailureHandler failureHandler;
  public final QueueAdmin queueAdmin;

  /** The changes that {@link #tick} has added to the present batch. */
  private int addedWork;

  BrokerEngine(EngineState state) {
    this.state = state;
    this.dispatcher = new Dispatcher(state);
    this.enqueueHandler = new EnqueueHandler(state);
    this.failureHandler = new FailureHandler(state, dispatcher);
    this.queueAdmin = new QueueAdmin(state, dispatcher, enqueueHandler);
  }

  /** Sets the time of the broker and its scheduler, once for each input; it never goes back. */
  public void advanceTo(long now) {
    state.now = Math.max(state.now, now);
    state.scheduler.advanceTo(state.now);
  }

  /**
   * Fires due timers and delivers messages.
   *
   * @return when to call again if there is no input before
   */
  public long tick() {
    int before = state.batch.work();
    boolean more = queueAdmin.runTask();
    for (int i = 0; i < AT_ONCE && state.batch.work() - before < MAX_WORK; i++) {
      EngineTimer due = state.timers.pollDue(state.now);
      if (due == null) {
        break;
      }
      fire(due);
    }
    addedWork += state.batch.work() - before;
    long next = dispatcher.deliver(AT_ONCE);
    return more ? state.now : Math.min(next, state.timers.firstDue());
  }

  /**
   * As {@link #tick}, while a batch is being written; does nothing once there is enough to do for
   * the next one. The batches that the store takes are then as large, however slow it is.
   */
  public long tickAhead() {
    return addedWork < MAX_WORK ? tick() : Long.MAX_VALUE;
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
   * Returns the changes since the last call.
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
            .flatMap(key -> state.scheduler.limitStats(key).stream())
            .map(stats -> new CommitBatch.Level(stats.name(), stats.level(), state.now))
            .toList();
    sealed.meta =
        new CommitBatch.Meta(
            state.now,
            bootNanos,
            state.nextSequence,
            state.nextQueueId,
            state.index.lowWaterMark(state.nextSequence));
    state.leaseLog.seal(sealed);
    state.batch = new CommitBatch(state.epoch, sealed.number + 1);
    addedWork = 0;
    return sealed;
  }

  /** Applies effects, after their batch was written or synced. */
  public void apply(CommitBatch.Effects effects) {
    List<MessageEntry> ready = effects.ready;
    for (int i = 0; i < ready.size(); i++) {
      state.makeAvailable(ready.get(i), state.now);
    }
    effects.actions.forEach(Runnable::run);
  }
}
