package dev.sluice.internal.bucket;

import dev.sluice.AcquireRejectedException.Reason;
import dev.sluice.Decision;
import java.util.LinkedHashSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The callers in a bucket's waiting list, and what they are owed. Everything is guarded by the
 * list's lock.
 */
final class WaitingList {
  /*
   * Mechanism. A waiter that joins takes its tokens at once by moving full-at, beyond the capacity
   * if need be: they are owed, and no later caller can get ahead. It is due when the debt up to and
   * including its own has shrunk to one capacity.
   *
   * State. While the word of the cell in service is not FREE, nothing but this class moves full-at.
   * `frontFullAt` is full-at before the first in the list, and full-at itself that behind the last.
   *
   * A grant is charged when it happens, not when it was due. A timer can be delayed by longer than
   * the bucket takes to fill; a waiter granted then is charged at the present instant, and later
   * waiters move accordingly. Otherwise a delayed timer, or the cancellation of a large request,
   * would let more than a capacity through at once.
   */
  private final AtomicTokenBucket bucket;
  private final int maxWaiters;
  private final Consumer<Waiter> onGrant;

  private final LinkedHashSet<Waiter> waiters = new LinkedHashSet<>();
  private long queuedTokens;

  /** The cell on whose epoch scale {@code frontFullAt} lies. */
  private Cell cell;

  private long frontFullAt;

  /** True if the list stays open without waiters. */
  private boolean heldOpen;

  /** Admissions and grants that the holder of the lock may still make. */
  private int steps;

  WaitingList(AtomicTokenBucket bucket, int maxWaiters, Consumer<Waiter> onGrant) {
    this.bucket = bucket;
    this.cell = bucket;
    this.maxWaiters = maxWaiters;
    this.onGrant = onGrant;
  }

  int size() {
    return waiters.size();
  }

  /** Says how many admissions and grants the holder of the lock may make. */
  void allowSteps(int most) {
    steps = most;
  }

  /** Uses up a step; false if none is left. */
  boolean spendStep() {
    if (steps > 0) {
      steps--;
      return true;
    }
    return false;
  }

  /**
   * Opens the list for arrivals, so that no later caller overtakes them; returns false without
   * arrivals.
   */
  boolean open() {
    heldOpen = bucket.latest().openWaitingList();
    return heldOpen;
  }

  /** Closes the list after {@link #open}, unless it has waiters. */
  void closeIfEmpty() {
    heldOpen = false;
    if (waiters.isEmpty()) {
      bucket.latest().closeWaitingList();
      cell = bucket;
    }
  }

  /** Puts {@code waiter} at the end, in the open list; false if it is refused. */
  boolean admit(Waiter waiter) {
    if (waiters.size() >= maxWaiters) {
      return waiter.refuse(
          Reason.TOO_MANY_WAITERS, "the waiting list is full: maxWaiters=" + maxWaiters);
    }
    do {
      cover(waiter.nowNanos);
      if (rejectIfHopeless(waiter)) {
        return false;
      }
    } while (!append(waiter));
    return true;
  }

  /** Refuses, before it takes tokens, a waiter that cannot be granted, or not in time. */
  private boolean rejectIfHopeless(Waiter waiter) {
    long now = unitsAt(waiter.nowNanos);
    long end = cell.scale.place(Math.max(cell.fullAt(), now), waiter.tokens, now);
    long dueAt = end - cell.capacityUnits;
    if (cell.capacity == 0) {
      return !waiter.refuse(Reason.DENIES_ALL, "the bucket denies everything");
    }
    if (end - now > BucketMath.MAX_DEBT_UNITS || !cell.scale.isWithinTime(dueAt)) {
      return !waiter.refuse(
          Reason.DEBT_OVERFLOW, "more than the bucket can account for: tokens=" + waiter.tokens);
    }
    return leastWaitNanos(dueAt, waiter.nowNanos) > waiter.maxWaitNanos && !waiter.refuseLate();
  }

  /** Returns the time until {@code dueAt}; a nanosecond if only a replenishment helps. */
  private long leastWaitNanos(long dueAt, long nowNanos) {
    if (cell.scale.refills()) {
      return cell.epochScale.nanosUntil(dueAt, nowNanos);
    }
    return dueAt > 0 ? 1 : 0;
  }

  /** Puts {@code waiter} at the end, owed its tokens; false if the bucket changed meanwhile. */
  private boolean append(Waiter waiter) {
    long now = unitsAt(waiter.nowNanos);
    long from = Math.max(cell.fullAt(), now);
    if (!cell.moveWaitingList(cell.scale.place(from, waiter.tokens, now), true)) {
      return false;
    }
    if (waiters.isEmpty()) {
      frontFullAt = from;
    }
    queuedTokens += waiter.tokens;
    waiters.add(waiter);
    return true;
  }

  /** Takes {@code waiter} out and returns what it was promised; false if it is not in the list. */
  boolean withdraw(Waiter waiter, long nowNanos) {
    if (!waiters.contains(waiter)) {
      return false;
    }
    boolean first = waiter == head();
    remove(waiter);
    if (first && !waiters.isEmpty()) {
      // Those behind it are served from now on, not from when it came.
      frontFullAt = Math.max(frontFullAt, unitsAt(nowNanos));
    }
    publish(nowNanos);
    return true;
  }

  /**
   * Adds tokens, first to waiters; returns false if the bucket has changed or a waiter has arrived.
   */
  boolean give(long tokens, long nowNanos) {
    if (waiters.isEmpty()) {
      long outcome = bucket.inService(nowNanos).give(tokens, nowNanos);
      return outcome != Cell.MOVED && outcome != Cell.QUEUED;
    }
    if (cell.capacity == 0) {
      return true;
    }
    frontFullAt -= cell.scale.cost(tokens);
    long now = unitsAt(nowNanos);
    while (isHeadDue(now)) {
      frontFullAt = headFullAt(now);
      grant(head());
    }
    if (waiters.isEmpty()) {
      frontFullAt = Math.max(frontFullAt, now);
    }
    publish(nowNanos);
    return true;
  }

  /** Decides for a caller that does not wait; returns null if a waiter has arrived. */
  @Nullable Decision decide(long tokens, long nowNanos) {
    return waiters.isEmpty()
        ? bucket.decideUnlessQueued(tokens, nowNanos)
        : cell.epochScale.decision("", ~cell.fullAt(), tokens, nowNanos);
  }

  /** Changes to another scale and keeps the waiters; returns false if it is the present scale. */
  boolean change(UnitScale scale, long nowNanos) {
    Cell serving;
    do {
      serving = bucket.inService(nowNanos);
      if (serving.scale.equals(scale)) {
        return false;
      }
      if (!waiters.isEmpty()) {
        follow();
        requireCanCarry(scale, nowNanos);
      }
    } while (!bucket.change(serving, scale, nowNanos));
    if (!waiters.isEmpty()) {
      publish(nowNanos);
    }
    return true;
  }

  /** The debt must fit the other scale, as must the time it takes to pay. */
  private void requireCanCarry(UnitScale scale, long nowNanos) {
    long owed =
        endFullAt(scale, cell.epochScale.convert(frontFullAt - unitsAt(nowNanos), scale), 0);
    long most = BucketMath.MAX_DEBT_UNITS;
    long timeLeftNanos = Long.MAX_VALUE - EpochScale.slackNanos(scale) - scale.stepNanos();
    boolean paidInTime =
        !scale.refills() || scale.elapsedAt(owed - scale.capacityUnits()) < timeLeftNanos;
    if (scale.cost(queuedTokens) > most || owed > most || !paidInTime) {
      throw new IllegalStateException(
          "the new limit cannot account for what is owed to those who wait: limit="
              + scale.limit()
              + ", waiting="
              + waiters.size());
    }
  }

  /** Grants those whose turn has come, as far as there are steps left. */
  void settle(long nowNanos) {
    if (waiters.isEmpty()) {
      return;
    }
    cover(nowNanos);
    if (cell.unitsAt(nowNanos) < 0) {
      // Nothing is known of the time before the epoch, so no waiter is served in it.
      return;
    }
    long now = unitsAt(nowNanos);
    boolean served = false;
    while (isHeadDue(now) && spendStep()) {
      frontFullAt = servedFullAt(head().tokens, now);
      grant(head());
      served = true;
    }
    if (served) {
      publish(nowNanos);
    }
  }

  private boolean isHeadDue(long now) {
    return !waiters.isEmpty() && headFullAt(now) <= now + cell.capacityUnits;
  }

  private Waiter head() {
    return waiters.iterator().next();
  }

  /** Full-at behind the first in the list. */
  private long headFullAt(long now) {
    return cell.scale.place(frontFullAt, head().tokens, now);
  }

  /** Full-at behind the first in the list when {@code tokens} are handed to it at {@code now}. */
  private long servedFullAt(long tokens, long now) {
    return tokens <= cell.capacity
        ? cell.scale.place(Math.max(frontFullAt, now), tokens, now)
        : Math.max(frontFullAt + cell.scale.cost(tokens), now);
  }

  /** Full-at behind the last in the list, on {@code scale} and from {@code front} on. */
  private long endFullAt(UnitScale scale, long front, long now) {
    if (scale.isContinuous()) {
      return front + scale.cost(queuedTokens);
    }
    long end = front;
    for (Waiter waiter : waiters) {
      end = scale.place(end, waiter.tokens, now);
    }
    return end;
  }

  /** The present instant; before the epoch nothing is known, so that is the earliest. */
  private long unitsAt(long nowNanos) {
    return Math.max(0, cell.unitsAt(nowNanos));
  }

  /** Writes where the list ends into the bucket. */
  private void publish(long nowNanos) {
    long end;
    do {
      follow();
      end = endFullAt(cell.scale, frontFullAt, unitsAt(nowNanos));
    } while (!cell.moveWaitingList(Math.max(0, end), heldOpen || !waiters.isEmpty()));
    if (waiters.isEmpty()) {
      // Keeps no cell alive that the bucket has left behind.
      cell = bucket;
    }
  }

  /** Switches to the cell in service, with an epoch that can represent {@code nowNanos}. */
  private void cover(long nowNanos) {
    Cell serving = bucket.covering(nowNanos);
    if (waiters.isEmpty()) {
      cell = serving;
    } else {
      follow();
    }
  }

  /** Follows the bucket over to the cell in service. */
  private void follow() {
    while (cell.isSealed()) {
      Cell next = bucket.successorOf(cell);
      frontFullAt = cell.epochScale.carryFront(frontFullAt, next.epochScale);
      cell = next;
    }
  }

  private void grant(Waiter waiter) {
    remove(waiter);
    onGrant.accept(waiter);
  }

  private void remove(Waiter waiter) {
    waiters.remove(waiter);
    queuedTokens -= waiter.tokens;
    waiter.cancelDeadline();
  }

  /** Returns whether time alone will serve the first waiter. */
  boolean isServedByTime() {
    return !waiters.isEmpty() && cell.scale.refills();
  }

  /** Returns the time at which the first waiter is served, as known at {@code nowNanos}. */
  long headDueNanos(long nowNanos) {
    long dueAt = headFullAt(unitsAt(nowNanos)) - cell.capacityUnits;
    return cell.epochNanos + cell.scale.elapsedAt(dueAt);
  }
}
