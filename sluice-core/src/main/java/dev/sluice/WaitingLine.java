package dev.sluice;

import dev.sluice.Alarms.Alarm;
import dev.sluice.ConsumeRefusedException.Reason;
import java.util.LinkedHashSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The callers that wait for a bucket's tokens, first come, first served. */
final class WaitingLine {
  /*
   * Mechanism. Whoever joins takes its tokens at once by moving full-at, beyond the capacity if need
   * be: they are owed, and no later caller can get ahead. It is due when the debt up to and including
   * its own has shrunk to one capacity.
   *
   * State. While somebody waits, the word of the cell in service carries the LINE mark. Then nothing
   * but this class changes it, under the lock; other callers are denied by arithmetic or come here.
   * `frontFullAt` is full-at before the first in line, and full-at itself that behind the last.
   *
   * Service is charged when it happens, not when it was due. A timer may be late by longer than the
   * bucket takes to fill; whoever is served then is placed at the present instant, and those behind
   * move up accordingly. Otherwise a late timer, or the cancelling of a large request, would let more
   * than a capacity through at once.
   *
   * Lock order: this lock, then the alarms'. Futures complete outside it.
   */
  static final long FOR_EVER = Long.MAX_VALUE;

  private final AtomicTokenBucket bucket;
  private final NanoClock clock;
  private final Alarms alarms;
  private final int maxWaiters;

  private final ReentrantLock lock = new ReentrantLock();
  private final Completer completer;

  // Guarded by lock. The cell is the one on whose axis frontFullAt lies.
  private final LinkedHashSet<Waiter> waiters = new LinkedHashSet<>();
  private long queuedTokens;
  private Cell cell;
  private long frontFullAt;
  private @Nullable Alarm headAlarm;
  private long headAlarmNanos;

  WaitingLine(AtomicTokenBucket bucket, NanoClock clock, int maxWaiters) {
    this.bucket = bucket;
    this.cell = bucket;
    this.clock = clock;
    this.alarms = Alarms.of(clock);
    this.maxWaiters = maxWaiters;
    this.completer = new Completer(lock, clock, alarms);
  }

  int size() {
    lock.lock();
    try {
      return waiters.size();
    } finally {
      lock.unlock();
    }
  }

  /** Joins the line, or is refused. */
  Waiter join(long tokens, long nowNanos, long maxWaitNanos) {
    return join(new Waiter(this, tokens, false), nowNanos, maxWaitNanos);
  }

  /** Joins the line with a thread that waits for nothing else, or is refused. */
  Waiter joinBlocking(long tokens, long nowNanos, long maxWaitNanos) {
    return join(new Waiter(this, tokens, true), nowNanos, maxWaitNanos);
  }

  private Waiter join(Waiter waiter, long nowNanos, long maxWaitNanos) {
    return lockedWithoutCallbacks(
        nowNanos,
        () -> {
          admit(waiter, nowNanos, maxWaitNanos);
          settle(nowNanos);
          waiter.isHandedOut = true;
          return waiter;
        });
  }

  /** Leaves the line and returns what was promised; false if the tokens are there already. */
  boolean leave(Waiter waiter) {
    long nowNanos = clock.nanoTime();
    Supplier<Boolean> withdrawal = () -> withdraw(waiter, nowNanos);
    return waiter.isBlocking
        ? lockedWithoutCallbacks(nowNanos, withdrawal)
        : locked(nowNanos, withdrawal);
  }

  /** Adds tokens, to those who wait first. */
  void replenish(long tokens, long nowNanos) {
    locked(nowNanos, () -> give(tokens, nowNanos));
  }

  /** Adds as many tokens as the bucket holds. */
  void reset(long nowNanos) {
    locked(nowNanos, () -> give(bucket.inService(nowNanos).capacity, nowNanos));
  }

  /** Goes over to another scale, and takes those who wait along. */
  void reconfigure(Scale scale, long nowNanos) {
    locked(nowNanos, () -> change(scale, nowNanos));
  }

  /** Decides for a caller who does not wait, after everybody whose turn has come. */
  Decision decide(long tokens, long nowNanos) {
    return lockedWithoutCallbacks(
        nowNanos,
        () ->
            waiters.isEmpty()
                ? bucket.decide(tokens, nowNanos)
                : Decisions.of(cell.axis, ~cell.fullAt(), tokens, nowNanos));
  }

  /** Brings the line up to date, runs {@code step} under the lock, then completes who is due. */
  private <T extends @Nullable Object> T locked(long nowNanos, Supplier<T> step) {
    try {
      return settled(nowNanos, step, () -> {});
    } finally {
      completer.run();
    }
  }

  /**
   * {@link #locked} for a thread that did not ask to run the callbacks of others, which may block:
   * another thread completes who is due.
   */
  private <T extends @Nullable Object> T lockedWithoutCallbacks(long nowNanos, Supplier<T> step) {
    return settled(nowNanos, step, completer::runElsewhere);
  }

  private <T extends @Nullable Object> T settled(
      long nowNanos, Supplier<T> step, Runnable lastUnderLock) {
    lock.lock();
    try {
      settle(nowNanos);
      T result = step.get();
      settle(nowNanos);
      return result;
    } finally {
      try {
        armHead();
      } finally {
        lastUnderLock.run();
        lock.unlock();
      }
    }
  }

  private void admit(Waiter waiter, long nowNanos, long maxWaitNanos) {
    if (waiters.size() >= maxWaiters) {
      waiter.refuse(Reason.LINE_FULL, "the line is full: maxWaiters=" + maxWaiters);
      return;
    }
    do {
      cover(nowNanos);
    } while (!refusedOutright(waiter, nowNanos, maxWaitNanos) && !append(waiter, nowNanos));
    if (maxWaitNanos != FOR_EVER && !waiter.isDone()) {
      waiter.deadline = alarms.at(nowNanos + maxWaitNanos, () -> expire(waiter, maxWaitNanos));
    }
  }

  /** Refuses, before anything is taken, who cannot be served or not in time. */
  private boolean refusedOutright(Waiter waiter, long nowNanos, long maxWaitNanos) {
    long now = unitsAt(nowNanos);
    long end = cell.scale.place(Math.max(cell.fullAt(), now), waiter.tokens, now);
    long dueAt = end - cell.capacityUnits;
    if (cell.capacity == 0) {
      waiter.refuse(Reason.NEVER, "the bucket denies everything");
    } else if (end - now > BucketMath.MAX_DEBT_UNITS || !cell.scale.isWithinTime(dueAt)) {
      waiter.refuse(
          Reason.TOO_MUCH_OWED, "more than the bucket can account for: tokens=" + waiter.tokens);
    } else if (leastWaitNanos(dueAt, nowNanos) > maxWaitNanos) {
      refuseLate(waiter, maxWaitNanos);
    }
    return waiter.isDone();
  }

  /** How long until {@code dueAt}; a nanosecond where only a replenishment helps. */
  private long leastWaitNanos(long dueAt, long nowNanos) {
    if (cell.scale.refills()) {
      return cell.axis.nanosUntil(dueAt, nowNanos);
    }
    return dueAt > 0 ? 1 : 0;
  }

  /** Puts {@code waiter} at the end, owed its tokens; false if the bucket changed meanwhile. */
  private boolean append(Waiter waiter, long nowNanos) {
    long now = unitsAt(nowNanos);
    long fullAt = cell.fullAt();
    long from = Math.max(fullAt, now);
    long end = cell.scale.place(from, waiter.tokens, now);
    if (waiters.isEmpty() ? !cell.openLine(fullAt, end) : !cell.moveLine(end, true)) {
      return false;
    }
    if (waiters.isEmpty()) {
      frontFullAt = from;
    }
    queuedTokens += waiter.tokens;
    waiters.add(waiter);
    return true;
  }

  private void expire(Waiter waiter, long maxWaitNanos) {
    if (leave(waiter)) {
      refuseLate(waiter, maxWaitNanos);
    }
  }

  private static void refuseLate(Waiter waiter, long maxWaitNanos) {
    waiter.refuse(Reason.DEADLINE, "no tokens before the deadline: maxWaitNanos=" + maxWaitNanos);
  }

  private boolean withdraw(Waiter waiter, long nowNanos) {
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

  private boolean give(long tokens, long nowNanos) {
    if (waiters.isEmpty()) {
      Cell serving = bucket.inService(nowNanos);
      while (serving.give(tokens, nowNanos) == Cell.MOVED) {
        serving = bucket.after(serving, Cell.MOVED, nowNanos);
      }
      return true;
    }
    if (cell.capacity == 0) {
      return false;
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

  private boolean change(Scale scale, long nowNanos) {
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

  /** What is owed must fit the other scale, as must the time it takes to pay. */
  private void requireCanCarry(Scale scale, long nowNanos) {
    long owed = endFullAt(scale, cell.axis.convert(frontFullAt - unitsAt(nowNanos), scale), 0);
    long most = BucketMath.MAX_DEBT_UNITS;
    long timeLeftNanos = Long.MAX_VALUE - Axis.slackNanos(scale) - scale.stepNanos();
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

  /** Moves everybody whose turn has come from the line to the granted. */
  private void settle(long nowNanos) {
    if (waiters.isEmpty()) {
      return;
    }
    cover(nowNanos);
    if (cell.unitsAt(nowNanos) < 0) {
      // Nothing is known of the time before the epoch, so nobody is served in it.
      return;
    }
    long now = unitsAt(nowNanos);
    boolean served = false;
    while (isHeadDue(now)) {
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

  /** Full-at behind the first in line. */
  private long headFullAt(long now) {
    return cell.scale.place(frontFullAt, head().tokens, now);
  }

  /** Full-at behind the first in line when {@code tokens} are handed to it at {@code now}. */
  private long servedFullAt(long tokens, long now) {
    return tokens <= cell.capacity
        ? cell.scale.place(Math.max(frontFullAt, now), tokens, now)
        : Math.max(frontFullAt + cell.scale.cost(tokens), now);
  }

  /** Full-at behind the last in line, on {@code scale} and from {@code front} on. */
  private long endFullAt(Scale scale, long front, long now) {
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

  /** Writes where the line ends into the bucket. */
  private void publish(long nowNanos) {
    long end;
    do {
      follow();
      end = endFullAt(cell.scale, frontFullAt, unitsAt(nowNanos));
    } while (!cell.moveLine(Math.max(0, end), !waiters.isEmpty()));
    if (waiters.isEmpty()) {
      // Keeps no cell alive that the bucket has left behind.
      cell = bucket;
    }
  }

  /** Goes over to the cell in service, with an epoch late enough for {@code nowNanos}. */
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
      frontFullAt = cell.axis.carryFront(frontFullAt, next.axis);
      cell = next;
    }
  }

  private void grant(Waiter waiter) {
    remove(waiter);
    completer.add(waiter);
  }

  private void remove(Waiter waiter) {
    waiters.remove(waiter);
    queuedTokens -= waiter.tokens;
    waiter.deadline = cancelled(waiter.deadline);
  }

  /** Sets the alarm for the first in line, if time will serve it. */
  private void armHead() {
    boolean wanted = !waiters.isEmpty() && cell.scale.refills();
    long dueNanos = wanted ? dueNanos() : 0;
    if (!wanted || dueNanos != headAlarmNanos) {
      headAlarm = cancelled(headAlarm);
    }
    if (wanted && headAlarm == null) {
      headAlarmNanos = dueNanos;
      headAlarm = alarms.at(dueNanos, this::onHeadDue);
    }
  }

  private long dueNanos() {
    long now = unitsAt(clock.nanoTime());
    return cell.epochNanos + cell.scale.elapsedAt(headFullAt(now) - cell.capacityUnits);
  }

  private void onHeadDue() {
    // Cancels too: an alarm may go off just as it is replaced, and must not lose the other one.
    locked(clock.nanoTime(), () -> headAlarm = cancelled(headAlarm));
  }

  private static @Nullable Alarm cancelled(@Nullable Alarm alarm) {
    if (alarm != null) {
      alarm.cancel();
    }
    return null;
  }
}
