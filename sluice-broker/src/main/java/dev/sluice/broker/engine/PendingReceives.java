package dev.sluice.broker.engine;

import dev.sluice.broker.BrokerException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Answers calls that receive messages. A call is answered after one round of deliveries, with what
 * it got in it; it waits for a message only if it got none.
 */
public final class PendingReceives {
  /**
   * Rounds after which a call that has some messages is answered, though others keep the scheduler
   * so busy that there may be more.
   */
  private static final int MAX_ROUNDS = 4;

  private final EngineState state;
  private final Dispatcher dispatch;

  /** Calls that are new or got a message in the current round. */
  private List<PendingReceive> undecided = new ArrayList<>();

  PendingReceives(EngineState state, Dispatcher dispatch) {
    this.state = state;
    this.dispatch = dispatch;
  }

  /** Begins a call for up to {@code most} messages, which waits up to {@code waitNanos}. */
  public void open(String queue, int most, long waitNanos, PendingReceive poll) {
    try {
      ConsumerState subscriber = new ConsumerState(state.line(queue), false, poll);
      poll.subscriber = subscriber;
      poll.polls = this;
      subscriber.line.subscribers.add(subscriber);
      subscriber.line.give(subscriber, most);
      if (waitNanos > 0) {
        state.timers.set(poll, state.now + waitNanos);
      }
      decideLater(poll);
    } catch (BrokerException refused) {
      state.outputs.refuse(poll.future, refused);
    }
  }

  private void decideLater(PendingReceive poll) {
    if (!poll.undecided) {
      poll.undecided = true;
      undecided.add(poll);
    }
  }

  /** Notes that {@code subscriber} got a message. */
  void delivered(ConsumerState subscriber) {
    if (subscriber.outlet instanceof PendingReceive poll) {
      decideLater(poll);
    }
  }

  /** Ends a round of deliveries: answers the calls for which the scheduler has nothing more now. */
  void afterDelivery() {
    if (undecided.isEmpty()) {
      return;
    }
    List<PendingReceive> all = undecided;
    undecided = new ArrayList<>();
    for (PendingReceive poll : all) {
      poll.undecided = false;
      ConsumerState subscriber = poll.subscriber;
      if (subscriber != null && !subscriber.closed) {
        decide(poll, subscriber);
      }
    }
  }

  /** Answers {@code poll}, waits for another round, or waits for its timer. */
  private void decide(PendingReceive poll, ConsumerState subscriber) {
    boolean got = subscriber.inFlight > 0;
    boolean more = subscriber.credit > 0 && subscriber.line.queue.hasReady();
    if (more && (!got || ++poll.rounds < MAX_ROUNDS)) {
      decideLater(poll);
    } else if (got || poll.slot < 0) {
      answer(poll, subscriber);
    }
  }

  /** Answers {@code poll}, which has waited long enough. */
  void expire(PendingReceive poll) {
    ConsumerState subscriber = poll.subscriber;
    if (subscriber != null && !subscriber.closed) {
      answer(poll, subscriber);
    }
  }

  private void answer(PendingReceive poll, ConsumerState subscriber) {
    leave(poll, subscriber);
    state.batch.whenWritten.answers.add(Completion.done(poll.future));
  }

  private void leave(PendingReceive poll, ConsumerState subscriber) {
    state.timers.remove(poll);
    dispatch.takeAway(subscriber);
  }

  /** Ends a call whose queue is gone. */
  void refuse(PendingReceive poll, BrokerException why) {
    state.timers.remove(poll);
    state.outputs.refuse(poll.future, why);
  }

  /** Ends a call, answered or not; its unsent messages go back with their tokens. */
  public void cancel(PendingReceive poll) {
    ConsumerState subscriber = poll.subscriber;
    if (subscriber != null) {
      leave(poll, subscriber);
      subscriber.leases().stream().filter(Lease::send).forEach(dispatch::putBackUntouched);
    }
  }

  /** Takes back what calls have got and not sent on, for the broker closes. */
  void stop() {
    state.index.find(PendingReceives::isPolled).stream()
        .flatMap(entry -> Stream.ofNullable(entry.lease()))
        .filter(Lease::send)
        .forEach(dispatch::putBackUntouched);
  }

  private static boolean isPolled(MessageEntry entry) {
    Lease lease = entry.lease();
    return lease != null && lease.holder != null && lease.holder.outlet instanceof PendingReceive;
  }
}
