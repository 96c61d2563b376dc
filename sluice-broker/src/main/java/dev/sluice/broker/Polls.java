package dev.sluice.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Calls that receive messages. A call is answered after the scheduler has looked once at what can
 * go, and waits for the first message only if nothing can.
 */
final class Polls {
  /**
   * While others keep the scheduler busy, a call that has some messages is answered after so many
   * rounds.
   */
  private static final int MAX_LOOKS = 4;

  private final BrokerState state;
  private final Dispatch dispatch;

  /** Calls that are new or have just got something. */
  private List<Poll> looking = new ArrayList<>();

  Polls(BrokerState state, Dispatch dispatch) {
    this.state = state;
    this.dispatch = dispatch;
  }

  /** Begins a call for up to {@code most} messages, which waits up to {@code waitNanos}. */
  void open(String queue, int most, long waitNanos, Poll poll) {
    try {
      Subscriber subscriber = new Subscriber(state.line(queue), false, poll);
      poll.subscriber = subscriber;
      poll.polls = this;
      subscriber.line.subscribers.add(subscriber);
      subscriber.line.give(subscriber, most);
      if (waitNanos > 0) {
        state.timers.set(poll, state.now + waitNanos);
      }
      look(poll);
    } catch (BrokerException refused) {
      state.outputs.refuse(poll.future, refused);
    }
  }

  private void look(Poll poll) {
    if (!poll.looking) {
      poll.looking = true;
      looking.add(poll);
    }
  }

  /** {@code subscriber} got a message. */
  void delivered(Subscriber subscriber) {
    if (subscriber.outlet instanceof Poll poll) {
      look(poll);
    }
  }

  /** Answers the calls for which the scheduler has nothing more now. */
  void looked() {
    if (looking.isEmpty()) {
      return;
    }
    List<Poll> all = looking;
    looking = new ArrayList<>();
    for (Poll poll : all) {
      poll.looking = false;
      Subscriber subscriber = poll.subscriber;
      if (subscriber != null && !subscriber.closed) {
        looked(poll, subscriber);
      }
    }
  }

  private void looked(Poll poll, Subscriber subscriber) {
    boolean got = subscriber.inFlight > 0;
    boolean more = subscriber.credit > 0 && subscriber.line.queue.mayGo();
    if (more && (!got || ++poll.looks < MAX_LOOKS)) {
      look(poll);
    } else if (got || poll.slot < 0) {
      answer(poll, subscriber);
    }
  }

  /** {@code poll} has waited long enough. */
  void expire(Poll poll) {
    Subscriber subscriber = poll.subscriber;
    if (subscriber != null && !subscriber.closed) {
      answer(poll, subscriber);
    }
  }

  private void answer(Poll poll, Subscriber subscriber) {
    leave(poll, subscriber);
    state.batch.whenWritten.answers.add(Answer.done(poll.future));
  }

  private void leave(Poll poll, Subscriber subscriber) {
    state.timers.remove(poll);
    dispatch.takeAway(subscriber);
  }

  /** Ends a call whose queue is gone. */
  void refuse(Poll poll, BrokerException why) {
    state.timers.remove(poll);
    state.outputs.refuse(poll.future, why);
  }

  /** Ends a call, answered or not: the messages it has got and not sent on were never delivered. */
  void cancel(Poll poll) {
    Subscriber subscriber = poll.subscriber;
    if (subscriber != null) {
      leave(poll, subscriber);
      subscriber.leases().stream().filter(Lease::send).forEach(dispatch::putBackUntouched);
    }
  }

  /** Takes back what calls have got and not sent on, for the broker closes. */
  void stop() {
    state.index.find(Polls::isPolled).stream()
        .flatMap(entry -> Stream.ofNullable(entry.lease()))
        .filter(Lease::send)
        .forEach(dispatch::putBackUntouched);
  }

  private static boolean isPolled(Entry entry) {
    Lease lease = entry.lease();
    return lease != null && lease.holder != null && lease.holder.outlet instanceof Poll;
  }
}
