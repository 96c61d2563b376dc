package dev.sluice.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call that receives messages: a subscriber that is removed when the call is answered. As a
 * timer it is due when the call has waited long enough.
 */
final class Poll extends Timer implements Subscriber.Outlet {
  /** Completes once {@link #take} returns the messages. */
  final CompletableFuture<Void> future;

  private final BodyRoom bodies;

  // Used by the state machine alone.
  @Nullable Subscriber subscriber;
  @Nullable Polls polls;

  /** Whether it is decided on after the current round of deliveries. */
  boolean undecided;

  /** Rounds of deliveries that ended before the scheduler had offered all it could. */
  int rounds;

  // Guarded by this.
  private final List<Handover> received = new ArrayList<>();
  private boolean taken;

  Poll(CompletableFuture<Void> future, BodyRoom bodies) {
    this.future = future;
    this.bodies = bodies;
  }

  @Override
  public synchronized void deliver(List<Handover> batch) {
    if (!taken) {
      batch.forEach(each -> received.add(bodies.admit(each)));
    }
  }

  @Override
  public void closed(BrokerException why) {
    if (polls != null) {
      polls.refuse(this, why);
    }
  }

  /** Returns the messages received so far; later ones are dropped. */
  synchronized List<Handover> take() {
    taken = true;
    List<Handover> all = List.copyOf(received);
    received.clear();
    all.forEach(each -> bodies.give(each.bodyBytes()));
    return all;
  }

  @Override
  public String toString() {
    return "poll of " + subscriber;
  }
}
