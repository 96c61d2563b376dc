package dev.sluice.broker.internal.engine;

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
  private final Dispatcher dispatcher;

  /** Calls that are new or got a message in the current round. */
  private List<PendingReceive> undecided = new ArrayList<>();

  PendingReceives(EngineState state, Dispatcher dispatch) {
    this.state = state;
    this.dispatcher = dispatch;
  }

  /** Begins a call for up to {@code max} messages, which waits up to {@code waitNanos}. */
  public void open(String queue, int max, long waitNanos, PendingReceive receive) {
    try {
      ConsumerState consumer = new ConsumerState(state.queue(queue), false, receive);
      receive.consumer = consumer;
      receive.receives = this;
      consumer.queue.consumers.add(consumer);
      consumer.queue.addCredit(consumer, max);
      if (waitNanos > 0) {
        state.timers.set(receive, state.now + waitNanos);
      }
      decideLater(receive);
    } catch (BrokerException refused) {
      state.callbacks.reject(receive.future, refused);
    }
  }

  private void decideLater(PendingReceive receive) {
    if (!receive.undecided) {
      receive.undecided = true;
      undecided.add(receive);
    }
  }

  /** Notes that {@code consumer} got a message. */
  void delivered(ConsumerState consumer) {
    if (consumer.target instanceof PendingReceive receive) {
      decideLater(receive);
    }
  }

  /** Ends a round of deliveries: answers the calls for which the scheduler has nothing more now. */
  void afterDelivery() {
    if (undecided.isEmpty()) {
      return;
    }
    List<PendingReceive> all = undecided;
    undecided = new ArrayList<>();
    for (PendingReceive receive : all) {
      receive.undecided = false;
      ConsumerState consumer = receive.consumer;
      if (consumer != null && !consumer.closed) {
        decide(receive, consumer);
      }
    }
  }

  /** Answers {@code receive}, waits for another round, or waits for its timer. */
  private void decide(PendingReceive receive, ConsumerState consumer) {
    boolean got = consumer.inFlight > 0;
    boolean more = consumer.credit > 0 && consumer.queue.fairQueue.hasReady();
    if (more && (!got || ++receive.rounds < MAX_ROUNDS)) {
      decideLater(receive);
    } else if (got || receive.slot < 0) {
      answer(receive, consumer);
    }
  }

  /** Answers {@code receive}, which has waited long enough. */
  void expire(PendingReceive receive) {
    ConsumerState consumer = receive.consumer;
    if (consumer != null && !consumer.closed) {
      answer(receive, consumer);
    }
  }

  private void answer(PendingReceive receive, ConsumerState consumer) {
    leave(receive, consumer);
    state.batch.whenWritten.completions.add(Completion.done(receive.future));
  }

  private void leave(PendingReceive receive, ConsumerState consumer) {
    state.timers.remove(receive);
    dispatcher.remove(consumer);
  }

  /** Ends a call whose queue was deleted. */
  void reject(PendingReceive receive, BrokerException reason) {
    state.timers.remove(receive);
    state.callbacks.reject(receive.future, reason);
  }

  /** Ends a call, answered or not; its unsent messages go back with their tokens. */
  public void cancel(PendingReceive receive) {
    ConsumerState consumer = receive.consumer;
    if (consumer != null) {
      leave(receive, consumer);
      consumer.leases().stream().filter(Lease::send).forEach(dispatcher::returnUntouched);
    }
  }

  /** Takes back messages that calls have got and not returned, because the broker closes. */
  void stop() {
    state.index.find(PendingReceives::isPolled).stream()
        .flatMap(entry -> Stream.ofNullable(entry.lease()))
        .filter(Lease::send)
        .forEach(dispatcher::returnUntouched);
  }

  private static boolean isPolled(MessageEntry entry) {
    Lease lease = entry.lease();
    return lease != null && lease.holder != null && lease.holder.target instanceof PendingReceive;
  }
}
