package dev.sluice.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call that receives messages: a subscriber that leaves when it is answered. As a timer it is
 * due when the call has waited long enough.
 */
final class Poll extends Timer implements Subscriber.Outlet {
  /** Answered once the messages can be had by {@link #take}. */
  final CompletableFuture<Void> future;

  private final BodyRoom bodies;

  // For the state machine.
  @Nullable Subscriber subscriber;
  @Nullable Polls polls;

  /** Whether it stands among those that the scheduler may give more right now. */
  boolean looking;

  /** How often the scheduler had no time to find out what it can give. */
  int looks;

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

  /** Returns the messages; what comes later is dropped. */
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
