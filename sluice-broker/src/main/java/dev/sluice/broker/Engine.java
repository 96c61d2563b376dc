package dev.sluice.broker;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state machine: inputs with their time go in; facts to store, and what may happen once they
 * are stored, come out as batches.
 *
 * <p>Belongs to one thread at a time; reads no clock, no payload and no file. Given the same inputs
 * it does the same.
 */
final class Engine {
  /** Messages to hand out, or timers to see to, before inputs get their turn again. */
  private static final int AT_ONCE = 512;

  final BrokerState state;
  final Dispatch dispatch;
  final Intake intake;
  final Failures failures;
  final Admin admin;

  Engine(BrokerState state) {
    this.state = state;
    this.dispatch = new Dispatch(state);
    this.intake = new Intake(state);
    this.failures = new Failures(state, dispatch);
    this.admin = new Admin(state, dispatch, intake);
  }

  /** Broker time; goes on only. */
  void advanceTo(long now) {
    state.now = Math.max(state.now, now);
  }

  /**
   * Does what is due and hands out what can go.
   *
   * @return when to come back if nothing comes in before
   */
  long tick() {
    boolean more = admin.work();
    for (int i = 0; i < AT_ONCE; i++) {
      Timer due = state.timers.pollDue(state.now);
      if (due == null) {
        break;
      }
      fire(due);
    }
    long next = dispatch.deliver(AT_ONCE);
    return more ? state.now : Math.min(next, state.timers.firstDue());
  }

  private void fire(Timer due) {
    if (due instanceof Lease lease) {
      failures.expire(lease);
    } else if (due instanceof Alarm alarm) {
      failures.alarm(alarm);
    } else if (due instanceof Intake.Forgetting forgetting) {
      intake.forget(forgetting);
    } else if (due instanceof Poll poll) {
      dispatch.polls.expire(poll);
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
  @Nullable Batch seal(long bootNanos) {
    Batch sealed = state.batch;
    if (sealed.isEmpty()) {
      return null;
    }
    sealed.levels =
        sealed.touched.stream()
            .flatMap(key -> state.scheduler.throttle(key, state.now).stream())
            .map(stats -> new Batch.Level(stats.key(), stats.level(), state.now))
            .toList();
    sealed.meta =
        new Batch.Meta(
            state.now,
            bootNanos,
            state.nextSequence,
            state.nextQueueId,
            state.index.lowWaterMark(state.nextSequence));
    sealed.storesLeases = sealed.leases.uses > 0;
    state.batch = new Batch(state.epoch, sealed.number + 1);
    return sealed;
  }

  /** Something came to be as durable as asked for: what waited for it can go on. */
  void apply(Batch.Effects effects) {
    List<Entry> ready = effects.ready;
    for (int i = 0; i < ready.size(); i++) {
      state.makeAvailable(ready.get(i), state.now);
    }
    effects.actions.forEach(Runnable::run);
  }
}
