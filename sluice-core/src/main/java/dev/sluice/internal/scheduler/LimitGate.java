package dev.sluice.internal.scheduler;

import dev.sluice.internal.bucket.ConfinedTokenBucket;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.internal.util.IndexedHeap;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A throttle key of a scheduler: the bucket of its limit, if it has one, and its waiters. */
final class LimitGate extends IndexedHeap.Node<LimitGate> {
  /*
   * Invariant, once the scheduler has looked at every touched gate: if a waiter could have the tokens
   * it needs next, it has been let through. So at rest the gate is armed for the instant at which the
   * next waiter can go, or it waits for a promise to be kept, or no waiter has credit.
   *
   * Promises. A waiter that is let through becomes ready and takes the tokens only when its turn
   * comes in its queue; until then they are promised, and no other waiter gets them. Promises to a
   * queue without credit, or to priorities that it does not serve now, do not count, so that they
   * delay no other queue; if others have taken the tokens meanwhile, such a sub-queue waits again, in
   * front.
   *
   * Order. While others wait, a new waiter goes behind them. Otherwise small costs could starve a
   * large one forever.
   */
  final String name;
  private final SchedulerCore core;
  final GateWaiters waiters = new GateWaiters(this);

  /** The bucket; null while the key has no limit. */
  private @Nullable ConfinedTokenBucket bucket;

  /** Tokens that items took and did not give back; see {@link #taken()}. */
  private long net;

  /** The most that {@link #net} ever was. */
  private long taken;

  /** Sets that name this key. */
  private int users;

  /** The time at which the next waiter can go, in nanoseconds since the scheduler's origin. */
  private long wakeAt;

  /** The queue in whose heap it is armed, if not in the one of all; changed by the core alone. */
  @Nullable QueueState armedBy;

  LimitGate(String name, SchedulerCore core) {
    this.name = name;
    this.core = core;
  }

  /** Returns the bucket; null while the key has no limit. */
  @Nullable ConfinedTokenBucket bucket() {
    return bucket;
  }

  void setLimit(UnitScale scale) {
    if (bucket == null) {
      bucket = core.newBucket(scale);
    } else {
      bucket.configure(scale, core.nextCharge(), core.now());
    }
    limitChanged();
  }

  void removeLimit() {
    bucket = null;
    limitChanged();
  }

  /** Sets the tokens of the bucket, which must be there. */
  void setLevel(double tokens) {
    Objects.requireNonNull(bucket).setLevel(tokens, core.lastCharge(), core.now());
    limitChanged();
  }

  void addUser() {
    users++;
  }

  void removeUser() {
    users--;
  }

  boolean isUnused() {
    return users == 0 && bucket == null;
  }

  /** Asks the scheduler to look at this gate before it decides anything. */
  void touch() {
    core.touch(this);
  }

  /** Returns whether {@code sub}, whose head needs {@code tokens} here, may go now. */
  boolean admits(SubQueue sub, long tokens, long round, long nowNanos) {
    ConfinedTokenBucket limiter = bucket;
    if (limiter == null) {
      return true;
    }
    if (sub.isPromisedBy(this)) {
      return limiter.has(tokens, nowNanos);
    }
    return (!isContended(sub) || sub.hadTurnAt(this, round))
        && limiter.has(withPromises(tokens), nowNanos);
  }

  /**
   * Returns whether others than {@code sub} wait here, or were let through and may be back: then
   * turns are taken here.
   */
  private boolean isContended(SubQueue sub) {
    return waiters.skipQueuesWithoutCredit() || waiters.hasOtherPlaces(sub);
  }

  /** Takes {@code tokens}, which must be there if the key has a limit. */
  void take(long tokens, long charge, long nowNanos) {
    if (bucket != null) {
      bucket.take(tokens, charge, nowNanos);
      net += tokens;
      taken = Math.max(taken, net);
    }
  }

  /** Returns {@code tokens} of a charge, except for those that refills have made up for. */
  void returnTokens(long tokens, long charge, long nowNanos) {
    ConfinedTokenBucket limiter = bucket;
    if (limiter != null && limiter.isCharged(charge)) {
      net -= tokens;
      limiter.returnTokens(tokens, charge, nowNanos);
      if (limiter.refills()) {
        touch();
      } else {
        retryUnservable();
      }
    }
  }

  /**
   * Returns the tokens that items took so far, without returned ones. Never decreases: after a
   * return, as many further tokens are not counted.
   */
  long taken() {
    return taken;
  }

  /** Returns the nanoseconds until the bucket alone would let {@code tokens} through. */
  long nanosUntil(long tokens, long nowNanos) {
    ConfinedTokenBucket limiter = bucket;
    return limiter == null ? 0 : limiter.nanosUntil(tokens, nowNanos);
  }

  /** Returns how long the bucket takes to refill {@code tokens}; zero if it never does. */
  long nanosToMint(long tokens) {
    return bucket == null ? 0 : bucket.nanosToMint(tokens);
  }

  /** Returns what the bucket must hold to have {@code tokens} beside all that is promised. */
  private long withPromises(long tokens) {
    long promised = waiters.promised();
    return tokens > Long.MAX_VALUE - promised ? Long.MAX_VALUE : tokens + promised;
  }

  /** Parks {@code sub}, which is not among the ready ones of its flow, until it can go. */
  void park(SubQueue sub, long nowNanos) {
    sub.withdraw();
    if (nanosUntil(sub.head().tokensAt(this), nowNanos) == ConfinedTokenBucket.NEVER) {
      waiters.addUnservable(sub);
    } else {
      waiters.add(sub);
    }
  }

  /** Lets through all waiters that can go, in turn, and arms the gate for the next. */
  void release(long nowNanos) {
    waiters.armFor(null);
    SubQueue sub;
    while ((sub = waiters.next(nowNanos)) != null) {
      long tokens = sub.head().tokensAt(this);
      long waitNanos = nanosUntil(withPromises(tokens), nowNanos);
      if (waitNanos == 0) {
        letThrough(sub, nowNanos);
      } else if (nanosUntil(tokens, nowNanos) == ConfinedTokenBucket.NEVER) {
        waiters.remove(sub);
        park(sub, nowNanos);
      } else {
        arm(waiters.of(sub.flow.queue), tokens, waitNanos, nowNanos);
        return;
      }
    }
    core.disarm(this);
  }

  /* Without a finite time, it is a promise that must be kept first; that touches the gate. */
  private void arm(QueueWaiters next, long tokens, long waitNanos, long nowNanos) {
    wakeAt = core.sinceOrigin(nowNanos) + waitNanos;
    if (waitNanos == ConfinedTokenBucket.NEVER || wakeAt < 0) {
      core.disarm(this);
    } else {
      core.arm(this, next.queue);
    }
    if (tokens > 1) {
      waiters.armFor(next);
    }
  }

  private void letThrough(SubQueue sub, long nowNanos) {
    LimitGate other = core.blocker(sub, this, nowNanos);
    if (other != null) {
      waiters.remove(sub);
      sub.hasTurnAt(this, core.round());
      core.reservation.bounce(sub, this, other, nowNanos);
      return;
    }
    core.reservation.done(sub);
    waiters.endTurn(sub);
    sub.promise();
    sub.flow.ready(sub);
  }

  /** The limit has changed: items that could never go under the old one are tried again. */
  private void limitChanged() {
    core.reservation.release();
    retryUnservable();
  }

  private void retryUnservable() {
    SubQueue sub;
    while ((sub = waiters.removeUnservable()) != null) {
      sub.flow.ready(sub);
    }
    touch();
  }

  @Override
  public long rank() {
    return wakeAt;
  }

  @Override
  public String toString() {
    return name;
  }
}
