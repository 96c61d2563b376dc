package dev.sluice.broker.internal.engine;

import dev.sluice.broker.BrokerException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One call that receives messages: a subscriber that is removed when the call is answered. As a
 * timer it is due when the call has waited long enough.
 */
public final class PendingReceive extends EngineTimer implements ConsumerState.DeliveryTarget {
  /** Completes once {@link #take} returns the messages. */
  public final CompletableFuture<Void> future;

  private final PrefetchBudget prefetched;

  // Used by the engine alone.
  @Nullable ConsumerState consumer;
  @Nullable PendingReceives receives;

  /** Whether it is decided on after the current round of deliveries. */
  boolean undecided;

  /** Rounds of deliveries that ended before the scheduler had offered all it could. */
  int rounds;

  // Guarded by this.
  private final List<PendingDelivery> received = new ArrayList<>();
  private boolean taken;

  public PendingReceive(CompletableFuture<Void> future, PrefetchBudget bodies) {
    this.future = future;
    this.prefetched = bodies;
  }

  @Override
  public synchronized void deliver(List<PendingDelivery> batch) {
    if (!taken) {
      batch.forEach(each -> received.add(prefetched.reserve(each)));
    }
  }

  @Override
  public void closed(BrokerException reason) {
    if (receives != null) {
      receives.reject(this, reason);
    }
  }

  /** Returns the messages received so far; later ones are dropped. */
  public synchronized List<PendingDelivery> take() {
    taken = true;
    List<PendingDelivery> all = List.copyOf(received);
    received.clear();
    all.forEach(each -> prefetched.release(each.bodyBytes()));
    return all;
  }

  @Override
  public String toString() {
    return "poll of " + consumer;
  }
}
