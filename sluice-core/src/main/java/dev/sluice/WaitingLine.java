package dev.sluice;

import dev.sluice.Alarms.Alarm;
import dev.sluice.ConsumeRefusedException.Reason;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The callers that wait for a bucket's tokens, first come, first served. */
final class WaitingLine {
  /*
   * Mechanism. Whoever joins takes its tokens at once by moving full-at, beyond the capacity if need
   * be: its tokens are owed, no later caller can get ahead of it, and it is due when the debt up to
   * and including its own has shrunk to one capacity. Being granted is therefore a matter of time
   * alone; no token changes hands then.
   *
   * Invariant, under the lock: the bucket's full-at equals `lineFullAt` while somebody waits, unless
   * it has passed it. Only a grant by tryConsume can pass it, which is possible only when everybody
   * in line is due. So if it differs, all are due; and whatever gives tokens back compares and sets
   * it from exactly that value, so that tokens whose time has come are never handed out twice.
   *
   * Lock order: this lock, then the alarms'. Futures complete outside it.
   */
  static final long FOR_EVER = Long.MAX_VALUE;

  /** How long one caller's callback may hold up those behind it; long against any mere delay. */
  private static final long RESCUE_NANOS = 100_000_000;

  private final AtomicTokenBucket bucket;
  private final NanoClock clock;
  private final Alarms alarms;
  private final int maxWaiters;

  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock. The cell is the one on whose axis lineFullAt lies.
  private final LinkedHashSet<Waiter> waiters = new LinkedHashSet<>();
  private final ArrayDeque<Waiter> granted = new ArrayDeque<>();
  private long queuedTokens;
  private Cell cell;
  private long lineFullAt;
  private @Nullable Alarm headAlarm;
  private long headAlarmNanos;

  // Guarded by lock: whose turn it is to complete the granted, and how many that was so far.
  private @Nullable Object completer;
  private long completions;
  private @Nullable Alarm rescueAlarm;

  WaitingLine(AtomicTokenBucket bucket, NanoClock clock, int maxWaiters) {
    this.bucket = bucket;
    this.cell = bucket;
    this.clock = clock;
    this.alarms = Alarms.of(clock);
    this.maxWaiters = maxWaiters;
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
    return locked(nowNanos, () -> admit(tokens, nowNanos, maxWaitNanos));
  }

  /** Leaves the line and returns what was promised; false if the tokens are there already. */
  boolean leave(Waiter waiter) {
    long nowNanos = clock.nanoTime();
    return locked(nowNanos, () -> withdraw(waiter, nowNanos));
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

  /** Brings the line up to date, runs {@code step} under the lock, then completes who is due. */
  private <T extends @Nullable Object> T locked(long nowNanos, Supplier<T> step) {
    try {
      lock.lock();
      try {
        settle(nowNanos);
        T result = step.get();
        settle(nowNanos);
        return result;
      } finally {
        armHead();
        lock.unlock();
      }
    } finally {
      completeGranted();
    }
  }

  private Waiter admit(long tokens, long nowNanos, long maxWaitNanos) {
    if (waiters.size() >= maxWaiters) {
      return refused(tokens, Reason.LINE_FULL, "the line is full: maxWaiters=" + maxWaiters);
    }
    Cell serving = bucket.inService(nowNanos);
    if (serving.capacity == 0) {
      return refused(tokens, Reason.NEVER, "the bucket denies everything");
    }
    long outcome;
    while ((outcome = serving.owe(tokens, nowNanos)) <= Cell.EXPIRED) {
      serving = bucket.after(serving, outcome, nowNanos);
    }
    Waiter waiter = new Waiter(this, tokens);
    if (outcome < 0) {
      refuseTooMuch(waiter);
      return waiter;
    }
    append(waiter, serving, outcome);
    boolean dueInTime = cell.scale.isWithinTime(lineFullAt - cell.capacityUnits);
    if (!dueInTime && withdraw(waiter, nowNanos)) {
      refuseTooMuch(waiter);
    } else if (maxWaitNanos != FOR_EVER) {
      setDeadline(waiter, nowNanos, maxWaitNanos);
    }
    return waiter;
  }

  private static void refuseTooMuch(Waiter waiter) {
    waiter.refuse(
        Reason.TOO_MUCH_OWED, "more than the bucket can account for: tokens=" + waiter.tokens);
  }

  private Waiter refused(long tokens, Reason reason, String message) {
    Waiter waiter = new Waiter(this, tokens);
    waiter.refuse(reason, message);
    return waiter;
  }

  /** Puts {@code waiter}, whose promise moved full-at to {@code fullAt}, at the end. */
  private void append(Waiter waiter, Cell serving, long fullAt) {
    followTo(serving);
    if (fullAt - cell.scale.cost(waiter.tokens) != lineFullAt) {
      grantAll();
    }
    lineFullAt = fullAt;
    queuedTokens += waiter.tokens;
    waiters.add(waiter);
  }

  private void setDeadline(Waiter waiter, long nowNanos, long maxWaitNanos) {
    boolean tooLate =
        cell.scale.refills()
            ? cell.nanosUntil(lineFullAt - cell.capacityUnits, nowNanos) > maxWaitNanos
            : maxWaitNanos == 0;
    if (tooLate && withdraw(waiter, nowNanos)) {
      refuseLate(waiter, maxWaitNanos);
    } else if (waiters.contains(waiter)) {
      waiter.deadline = alarms.at(nowNanos + maxWaitNanos, () -> expire(waiter, maxWaitNanos));
    }
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
    while (waiters.contains(waiter)) {
      long next = lineFullAt - cell.scale.cost(waiter.tokens);
      if (cell.replace(lineFullAt, Math.max(0, next))) {
        lineFullAt = next;
        remove(waiter);
        return true;
      }
      settle(nowNanos);
    }
    return false;
  }

  private boolean give(long tokens, long nowNanos) {
    while (!waiters.isEmpty()) {
      long units = cell.scale.cost(tokens);
      long next = BucketMath.give(lineFullAt, cell.unitsAt(nowNanos), units, cell.capacityUnits);
      if (cell.replace(lineFullAt, next)) {
        lineFullAt -= units;
        return true;
      }
      settle(nowNanos);
    }
    Cell serving = bucket.inService(nowNanos);
    long outcome;
    while ((outcome = serving.give(tokens, nowNanos)) == Cell.MOVED) {
      serving = bucket.after(serving, outcome, nowNanos);
    }
    return true;
  }

  private boolean change(Scale scale, long nowNanos) {
    Cell serving;
    do {
      serving = bucket.inService(nowNanos);
      if (serving.scale.equals(scale)) {
        return false;
      }
      settle(nowNanos);
      if (!waiters.isEmpty() && !cell.canCarry(lineFullAt, scale, nowNanos)) {
        throw new IllegalStateException(
            "the new limit cannot account for what is owed to those who wait: limit="
                + scale.limit()
                + ", waiting="
                + waiters.size());
      }
    } while (!bucket.change(serving, scale, nowNanos));
    return true;
  }

  /** Moves everybody who is due from the line to the granted. */
  private void settle(long nowNanos) {
    followTo(bucket.inService(nowNanos));
    if (!waiters.isEmpty() && cell.fullAt() != lineFullAt) {
      grantAll();
    }
    long dueFullAt = cell.unitsAt(nowNanos) + cell.capacityUnits;
    while (!waiters.isEmpty() && headFullAt() <= dueFullAt) {
      grant(head());
    }
  }

  /** Follows the bucket over to {@code serving}, which comes after the present cell or is it. */
  private void followTo(Cell serving) {
    while (cell != serving) {
      if (waiters.isEmpty()) {
        cell = serving;
      } else if (cell.fullAt() != lineFullAt) {
        grantAll();
      } else {
        Cell next = cell.successor(bucket.epochNanos, cell.bornNanos);
        lineFullAt = cell.carry(lineFullAt, next);
        cell = next;
      }
    }
  }

  private Waiter head() {
    return waiters.iterator().next();
  }

  /** Full-at up to and including the first in line. */
  private long headFullAt() {
    return lineFullAt - cell.scale.cost(queuedTokens - head().tokens);
  }

  private void grantAll() {
    while (!waiters.isEmpty()) {
      grant(head());
    }
  }

  private void grant(Waiter waiter) {
    remove(waiter);
    granted.add(waiter);
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
    return cell.epochNanos + cell.scale.elapsedAt(headFullAt() - cell.capacityUnits);
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

  /** Completes the granted outside the lock, in order: one thread at a time does it. */
  private void completeGranted() {
    Object turn = new Object();
    for (Waiter next = nextGranted(turn); next != null; next = nextGranted(turn)) {
      next.grant();
    }
  }

  private @Nullable Waiter nextGranted(Object turn) {
    lock.lock();
    try {
      if (completer == null) {
        completer = turn;
      }
      Waiter next = null;
      if (completer == turn) {
        completions++;
        next = granted.poll();
        completer = next == null ? null : turn;
      }
      armRescue();
      return next;
    } finally {
      lock.unlock();
    }
  }

  private void armRescue() {
    if (granted.isEmpty()) {
      rescueAlarm = cancelled(rescueAlarm);
    } else if (rescueAlarm == null) {
      long seen = completions;
      rescueAlarm = alarms.at(clock.nanoTime() + RESCUE_NANOS, () -> rescue(seen));
    }
  }

  /** Goes on with the others if the thread whose turn it is got stuck in one caller's callback. */
  private void rescue(long seenCompletions) {
    lock.lock();
    try {
      rescueAlarm = cancelled(rescueAlarm);
      if (completions == seenCompletions) {
        completer = null;
      }
      armRescue();
    } finally {
      lock.unlock();
    }
    completeGranted();
  }
}
