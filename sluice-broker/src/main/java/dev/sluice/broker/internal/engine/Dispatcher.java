package dev.sluice.broker.internal.engine;

import dev.sluice.Next;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.internal.accounting.FairnessKeyCounters;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Delivers messages, and ends leases. */
public final class Dispatcher {
  public final PendingReceives receives;
  private final EngineState state;
  private boolean stopped;

  /**
   * Refers to a leased message.
   *
   * @param token null for its present lease
   */
  public record LeaseRef(UUID id, @Nullable LeaseToken token) {
    public LeaseRef {
      Objects.requireNonNull(id, "id");
    }

    public static List<Dispatcher.LeaseRef> all(Map<UUID, LeaseToken> leases) {
      List<Dispatcher.LeaseRef> claims = new ArrayList<>(leases.size());
      leases.forEach((id, token) -> claims.add(new Dispatcher.LeaseRef(id, token)));
      return claims;
    }
  }

  Dispatcher(EngineState state) {
    this.state = state;
    this.receives = new PendingReceives(state, this);
  }

  public void open(String queue, Dispatcher.ConsumerRegistration subscription) {
    try {
      BrokerQueue brokerQueue = state.queue(queue);
      ConsumerState consumer =
          new ConsumerState(brokerQueue, subscription.renewsCredit(), subscription.target());
      brokerQueue.consumers.add(consumer);
      brokerQueue.addCredit(consumer, subscription.credit());
      state.batch.whenWritten.completions.add(new Completion<>(subscription.future(), consumer));
    } catch (BrokerException refused) {
      state.callbacks.reject(subscription.future(), refused);
    }
  }

  /** Registers a consumer. */
  public record ConsumerRegistration(
      long credit,
      boolean renewsCredit,
      ConsumerState.DeliveryTarget target,
      CompletableFuture<ConsumerState> future) {}

  public void addCredit(ConsumerState consumer, long credit) {
    if (consumer.takesMore()) {
      consumer.queue.addCredit(consumer, credit);
    }
  }

  /**
   * Removes a consumer; its messages go back to where they were. Tokens are returned only for
   * messages that were never sent: the consumer may have processed the others.
   */
  public void close(ConsumerState consumer, @Nullable BrokerException reason) {
    if (remove(consumer)) {
      consumer.leases().forEach(this::returnToPlace);
      if (reason != null) {
        state.batch.whenWritten.actions.add(() -> consumer.target.closed(reason));
      }
    }
  }

  /** Takes a consumer away; messages that were sent to it stay leased, the others go back. */
  public void detach(ConsumerState consumer) {
    if (remove(consumer)) {
      consumer.leases().stream().filter(Lease::send).forEach(this::returnUntouched);
    }
  }

  /**
   * Gives a consumer nothing more. Messages that were not sent to it go back with their tokens; it
   * may settle the others as long as it is open.
   */
  public void drain(ConsumerState consumer, CompletableFuture<Void> future) {
    if (consumer.takesMore()) {
      consumer.drained = true;
      consumer.queue.removeCredit(consumer);
      consumer.leases().stream().filter(Lease::send).forEach(this::returnUntouched);
    }
    state.batch.whenWritten.completions.add(Completion.done(future));
  }

  boolean remove(ConsumerState consumer) {
    if (consumer.closed) {
      return false;
    }
    consumer.closed = true;
    consumer.queue.removeCredit(consumer);
    consumer.queue.consumers.remove(consumer);
    return true;
  }

  /**
   * Ends all deliveries. Messages that no consumer has received return to their places; consumers
   * may settle the others after a restart.
   */
  public void stop() {
    stopped = true;
    receives.stop();
    for (BrokerQueue brokerQueue : state.queues.values()) {
      for (ConsumerState consumer : brokerQueue.consumers) {
        consumer.leases().stream().filter(Lease::claim).forEach(this::returnToPlace);
      }
    }
  }

  /** Puts back a message that was not delivered or not used, and returns its tokens. */
  void returnUntouched(Lease lease) {
    state.returnTokens(lease.entry);
    returnToPlace(lease);
  }

  private void returnToPlace(Lease lease) {
    MessageEntry entry = lease.entry;
    state.endLease(lease);
    state.revoke(lease);
    entry.scheduled =
        entry.queue.fairQueue.requeue(
            Objects.requireNonNull(entry.scheduled), entry.placement.placement());
    entry.queue.markPending(entry);
    state.armExpiry(entry);
  }

  /**
   * Delivers up to {@code limit} messages.
   *
   * @return when more can go: {@code now} if some can at once, {@link Long#MAX_VALUE} if only an
   *     input brings more
   */
  long deliver(int limit) {
    long next = offerNext(limit);
    receives.afterDelivery();
    return next;
  }

  private long offerNext(int limit) {
    for (int i = 0; i < limit && !stopped; i++) {
      Next<MessageEntry> next = state.scheduler.next(state.now);
      if (next instanceof Next.Offer<MessageEntry> offer) {
        lease(offer);
      } else if (next instanceof Next.Wait<MessageEntry> wait) {
        return wait.untilNanos();
      } else {
        return Long.MAX_VALUE;
      }
    }
    return stopped ? Long.MAX_VALUE : state.now;
  }

  private void lease(Next.Offer<MessageEntry> offer) {
    MessageEntry entry = offer.item();
    BrokerQueue brokerQueue = entry.queue;
    offer.confirm();
    ConsumerState consumer = brokerQueue.nextConsumer();
    if (entry.timer != null) {
      state.timers.remove(entry.timer);
    }
    brokerQueue.markNotPending(entry);
    Lease lease = new Lease(entry, state.nextToken(), consumer);
    entry.timer = lease;
    entry.stage = MessageEntry.Stage.LEASED;
    brokerQueue.leased++;
    FairnessKeyCounters count = entry.placement.count;
    count.leased++;
    count.delivered++;
    count.servedAt = state.now;
    consumer.add(lease);
    receives.delivered(consumer);
    state.store(lease);
    state.timers.set(lease, state.now + brokerQueue.config.leaseTimeout().toNanos());
    state.batch.addDelivery(PendingDelivery.of(lease, consumer, state.removeCachedBody(entry)));
    brokerQueue.delivered++;
    state.metrics.delivered(brokerQueue.name, entry.placement.spec.fairnessKey(), entry.attempts);
  }

  /** Acknowledges messages; completes with the ids of those whose leases have ended. */
  public void ackAll(
      String queue, List<Dispatcher.LeaseRef> claims, CompletableFuture<List<UUID>> future) {
    try {
      BrokerQueue brokerQueue = state.queue(queue);
      List<UUID> rejection = new ArrayList<>(0);
      for (Dispatcher.LeaseRef claim : claims) {
        Lease lease = find(brokerQueue, claim);
        if (lease == null) {
          rejection.add(claim.id());
        } else {
          ack(lease);
        }
      }
      state.batch.whenDurable(brokerQueue).completions.add(new Completion<>(future, rejection));
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  /** Acknowledges a message; fails {@code future} with LEASE_NOT_FOUND unless the lease holds. */
  public void ack(String queue, Dispatcher.LeaseRef claim, CompletableFuture<Void> future) {
    try {
      Lease lease = require(queue, claim);
      ack(lease);
      state.batch.whenDurable(lease.entry.queue).completions.add(Completion.done(future));
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  private void ack(Lease lease) {
    MessageEntry entry = lease.entry;
    BrokerQueue brokerQueue = entry.queue;
    long held = state.now - (lease.due - brokerQueue.config.leaseTimeout().toNanos());
    brokerQueue.acked++;
    state.metrics.acked(brokerQueue.name, entry.placement.spec.fairnessKey(), Math.max(0, held));
    state.forget(entry);
    state.batch.changes.add(new StateChange.Removed(entry));
  }

  /** Extends a lease. */
  public void extend(
      String queue, Dispatcher.LeaseRef claim, long nanos, CompletableFuture<Void> future) {
    try {
      Lease lease = require(queue, claim);
      MessageEntry entry = lease.entry;
      state.timers.set(lease, state.now + nanos);
      state.batch.changes.add(
          new StateChange.LeaseChanged(entry, lease.token, entry.attempts, lease.due));
      state.store(lease);
      state.batch.whenWritten.completions.add(Completion.done(future));
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  /** Returns a message that a consumer did not use to its place, with its tokens. */
  public void release(String queue, Dispatcher.LeaseRef claim, CompletableFuture<Void> future) {
    try {
      returnUntouched(require(queue, claim));
      state.batch.whenWritten.completions.add(Completion.done(future));
    } catch (BrokerException refused) {
      state.callbacks.reject(future, refused);
    }
  }

  Lease require(String queue, Dispatcher.LeaseRef claim) {
    Lease lease = find(state.queue(queue), claim);
    if (lease == null) {
      throw leaseNotFound(queue, claim);
    }
    return lease;
  }

  private static BrokerException leaseNotFound(String queue, Dispatcher.LeaseRef claim) {
    return new BrokerException(
        Code.LEASE_NOT_FOUND,
        // Not formatted(): a call can fail with thousands of these.
        "the message is not leased, or by another token: queue="
            + queue
            + ", id="
            + claim.id()
            + ", token="
            + claim.token());
  }

  private @Nullable Lease find(BrokerQueue brokerQueue, Dispatcher.LeaseRef claim) {
    MessageEntry entry = state.index.get(claim.id());
    Lease lease = entry == null || entry.queue != brokerQueue ? null : entry.lease();
    boolean holds = lease != null && (claim.token() == null || claim.token().equals(lease.token));
    return holds ? lease : null;
  }
}
