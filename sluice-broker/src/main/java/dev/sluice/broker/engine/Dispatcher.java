package dev.sluice.broker.engine;

import dev.sluice.Next;
import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.accounting.FairnessKeyCounters;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Hands messages out, and takes back the right to settle them. */
public final class Dispatcher {
  public final PendingReceives polls;
  private final EngineState state;
  private boolean stopped;

  /**
   * A message that a consumer means.
   *
   * @param token null for whatever lease the message has
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
    this.polls = new PendingReceives(state, this);
  }

  public void open(String queue, Dispatcher.ConsumerRegistration subscription) {
    try {
      BrokerQueue line = state.line(queue);
      ConsumerState subscriber =
          new ConsumerState(line, subscription.renewsCredit(), subscription.outlet());
      line.subscribers.add(subscriber);
      line.give(subscriber, subscription.credit());
      state.batch.whenWritten.answers.add(new Completion<>(subscription.future(), subscriber));
    } catch (BrokerException refused) {
      state.outputs.refuse(subscription.future(), refused);
    }
  }

  /** Asks for a subscriber. */
  public record ConsumerRegistration(
      long credit,
      boolean renewsCredit,
      ConsumerState.DeliveryTarget outlet,
      CompletableFuture<ConsumerState> future) {}

  public void give(ConsumerState subscriber, long credit) {
    if (subscriber.takesMore()) {
      subscriber.line.give(subscriber, credit);
    }
  }

  /**
   * Removes a consumer; its messages go back to where they were. Tokens are returned only for
   * messages that were never sent: the others may have been used, whatever became of the consumer.
   */
  public void close(ConsumerState subscriber, @Nullable BrokerException why) {
    if (takeAway(subscriber)) {
      subscriber.leases().forEach(this::putBack);
      if (why != null) {
        state.batch.whenWritten.actions.add(() -> subscriber.outlet.closed(why));
      }
    }
  }

  /** Takes a consumer away; messages that were sent to it stay leased, the others go back. */
  public void detach(ConsumerState subscriber) {
    if (takeAway(subscriber)) {
      subscriber.leases().stream().filter(Lease::send).forEach(this::putBackUntouched);
    }
  }

  /**
   * Gives a consumer nothing more. Messages that were not sent to it go back with their tokens; it
   * may settle the others as long as it is open.
   */
  public void drain(ConsumerState subscriber, CompletableFuture<Void> future) {
    if (subscriber.takesMore()) {
      subscriber.drained = true;
      subscriber.line.takeCredit(subscriber);
      subscriber.leases().stream().filter(Lease::send).forEach(this::putBackUntouched);
    }
    state.batch.whenWritten.answers.add(Completion.done(future));
  }

  boolean takeAway(ConsumerState subscriber) {
    if (subscriber.closed) {
      return false;
    }
    subscriber.closed = true;
    subscriber.line.takeCredit(subscriber);
    subscriber.line.subscribers.remove(subscriber);
    return true;
  }

  /**
   * Hands out nothing more. What no consumer has seen yet goes back; what they have they may settle
   * after a restart.
   */
  public void stop() {
    stopped = true;
    polls.stop();
    for (BrokerQueue line : state.lines.values()) {
      for (ConsumerState subscriber : line.subscribers) {
        subscriber.leases().stream().filter(Lease::claim).forEach(this::putBack);
      }
    }
  }

  /** Puts back a message that was not delivered or not used, and returns its tokens. */
  void putBackUntouched(Lease lease) {
    state.giveBackTokens(lease.entry);
    putBack(lease);
  }

  private void putBack(Lease lease) {
    MessageEntry entry = lease.entry;
    state.endLease(lease);
    state.revoke(lease);
    entry.scheduled =
        entry.line.queue.requeue(Objects.requireNonNull(entry.scheduled), entry.route.placement());
    entry.line.pending(entry);
    state.armExpiry(entry);
  }

  /**
   * Hands out up to {@code limit} messages.
   *
   * @return when more can go: {@code now} if some can at once, {@link Long#MAX_VALUE} if only an
   *     input brings more
   */
  long deliver(int limit) {
    long next = handOut(limit);
    polls.afterDelivery();
    return next;
  }

  private long handOut(int limit) {
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
    BrokerQueue line = entry.line;
    offer.confirm();
    ConsumerState subscriber = line.nextSubscriber();
    if (entry.timer != null) {
      state.timers.remove(entry.timer);
    }
    line.notPending(entry);
    Lease lease = new Lease(entry, state.nextToken(), subscriber);
    entry.timer = lease;
    entry.stage = MessageEntry.Stage.LEASED;
    line.leased++;
    FairnessKeyCounters count = entry.route.count;
    count.leased++;
    count.delivered++;
    count.servedAt = state.now;
    subscriber.add(lease);
    polls.delivered(subscriber);
    state.store(lease);
    state.timers.set(lease, state.now + line.config.leaseTimeout().toNanos());
    state.batch.hand(PendingDelivery.of(lease, subscriber, state.takeBody(entry)));
    line.delivered++;
    state.metrics.delivered(line.name, entry.route.spec.key(), entry.attempts);
  }

  /** Acknowledges each of {@code claims} that holds; answers with those that do not. */
  public void ackAll(
      String queue, List<Dispatcher.LeaseRef> claims, CompletableFuture<List<UUID>> future) {
    try {
      BrokerQueue line = state.line(queue);
      List<UUID> refused = new ArrayList<>(0);
      for (Dispatcher.LeaseRef claim : claims) {
        Lease lease = find(line, claim);
        if (lease == null) {
          refused.add(claim.id());
        } else {
          ack(lease);
        }
      }
      state.batch.committed(line).answers.add(new Completion<>(future, refused));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  /** Acknowledges a message; fails {@code future} with LEASE_NOT_FOUND unless the lease holds. */
  public void ack(String queue, Dispatcher.LeaseRef claim, CompletableFuture<Void> future) {
    try {
      Lease lease = require(queue, claim);
      ack(lease);
      state.batch.committed(lease.entry.line).answers.add(Completion.done(future));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  private void ack(Lease lease) {
    MessageEntry entry = lease.entry;
    BrokerQueue line = entry.line;
    long held = state.now - (lease.due - line.config.leaseTimeout().toNanos());
    line.acked++;
    state.metrics.acked(line.name, entry.route.spec.key(), Math.max(0, held));
    state.forget(entry);
    state.batch.facts.add(new StateChange.Removed(entry));
  }

  /** Gives a consumer more time. */
  public void extend(
      String queue, Dispatcher.LeaseRef claim, long nanos, CompletableFuture<Void> future) {
    try {
      Lease lease = require(queue, claim);
      MessageEntry entry = lease.entry;
      state.timers.set(lease, state.now + nanos);
      state.batch.facts.add(
          new StateChange.LeaseChanged(entry, lease.token, entry.attempts, lease.due));
      state.store(lease);
      state.batch.whenWritten.answers.add(Completion.done(future));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  /** Takes back a message that a consumer did not use, with its tokens. */
  public void release(String queue, Dispatcher.LeaseRef claim, CompletableFuture<Void> future) {
    try {
      putBackUntouched(require(queue, claim));
      state.batch.whenWritten.answers.add(Completion.done(future));
    } catch (BrokerException refused) {
      state.outputs.refuse(future, refused);
    }
  }

  Lease require(String queue, Dispatcher.LeaseRef claim) {
    Lease lease = find(state.line(queue), claim);
    if (lease == null) {
      throw notLeased(queue, claim);
    }
    return lease;
  }

  private static BrokerException notLeased(String queue, Dispatcher.LeaseRef claim) {
    return new BrokerException(
        Code.LEASE_NOT_FOUND,
        // Not formatted(): a call can ask for thousands of these.
        "the message is not leased, or not by that token: queue="
            + queue
            + ", id="
            + claim.id()
            + ", token="
            + claim.token());
  }

  private @Nullable Lease find(BrokerQueue line, Dispatcher.LeaseRef claim) {
    MessageEntry entry = state.index.get(claim.id());
    Lease lease = entry == null || entry.line != line ? null : entry.lease();
    boolean holds = lease != null && (claim.token() == null || claim.token().equals(lease.token));
    return holds ? lease : null;
  }
}
