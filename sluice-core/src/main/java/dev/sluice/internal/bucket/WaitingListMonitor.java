package dev.sluice.internal.bucket;

import dev.sluice.AcquireRejectedException.Reason;
import dev.sluice.Decision;
import dev.sluice.ManualClock;
import dev.sluice.NanoClock;
import dev.sluice.internal.time.ClockTimer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The callers that wait for a bucket's tokens, first come, first served. */
final class WaitingListMonitor {
  /*
   * Arrival. A caller does not wait for the lock in order to join: it adds itself to the arrivals and
   * marks the bucket's word ARRIVED. From then on it is in the list before any later caller, for
   * the holder of the lock admits the arrivals before it does anything else. If no thread holds the
   * lock, the caller takes it; it then admits and serves a bounded number of others and leaves the
   * rest to a thread of the library.
   *
   * Invariant, while the lock is free: with waiters the word is WAITING or ARRIVED, and if it is
   * ARRIVED some thread is about to take the lock.
   *
   * Lock order: this lock, then the dispatcher's, then the alarms'. Futures complete outside, but for
   * those that have no callbacks.
   */
  static final long FOR_EVER = Long.MAX_VALUE;

  /** The most work that a joining caller does for others, so that its call is short. */
  private static final int JOIN_STEPS = 64;

  /** The number of waiters that may be arriving at a time, however short the list may be. */
  private static final int MIN_ARRIVALS = 1_000;

  private final AtomicTokenBucket bucket;
  private final NanoClock clock;
  private final ClockTimer alarms;
  private final int joinSteps;

  private final ReentrantLock lock = new ReentrantLock();
  private final CallbackDispatcher dispatcher;
  private final ArrivalQueue arrivals;

  /** True while a thread of the library admits the arrivals, or is about to. */
  private final AtomicBoolean helping = new AtomicBoolean();

  // Guarded by lock.
  private final WaitingList list;
  private ClockTimer.@Nullable Timeout headAlarm;
  private long headAlarmNanos;

  /** Guarded by lock: the waiter of the caller that holds it to join; it has no callbacks yet. */
  private @Nullable Waiter joining;

  WaitingListMonitor(AtomicTokenBucket bucket, NanoClock clock, int maxWaiters) {
    this.bucket = bucket;
    this.clock = clock;
    this.alarms = ClockTimer.of(clock);
    // A manual clock runs no alarm by itself: waiters left over would wait for its next advance.
    this.joinSteps = clock instanceof ManualClock ? Integer.MAX_VALUE : JOIN_STEPS;
    this.dispatcher = new CallbackDispatcher(clock, alarms);
    this.arrivals = new ArrivalQueue(Math.max(MIN_ARRIVALS, maxWaiters));
    this.list = new WaitingList(bucket, maxWaiters, this::complete);
  }

  /** Returns the number of waiters, including all that arrived before this call. */
  int size() {
    lock.lock();
    return thenUnlock(Integer.MAX_VALUE, list::size, dispatcher::runElsewhere);
  }

  boolean isHeldByCaller() {
    return lock.isHeldByCurrentThread();
  }

  /** Joins the list, or is refused. */
  Waiter join(long tokens, long nowNanos) {
    return join(new Waiter(this, tokens, nowNanos, FOR_EVER, false, null));
  }

  /** Puts a caller with a maximum wait into the list; returns its future. */
  Waiter joinFor(long maxWaitNanos, long tokens, long nowNanos) {
    return join(new Waiter(this, tokens, nowNanos, maxWaitNanos, false, true));
  }

  /** Joins the list with a thread that waits for nothing else, or is refused. */
  Waiter joinBlocking(long tokens, long nowNanos, long maxWaitNanos) {
    return join(new Waiter(this, tokens, nowNanos, maxWaitNanos, true, true));
  }

  private Waiter join(Waiter waiter) {
    if (!arrivals.add(waiter)) {
      waiter.refuse(Reason.TOO_MANY_WAITERS, "too many callers arrive at a time");
      waiter.finish();
      return waiter;
    }
    bucket.arrive(waiter.nowNanos);
    if (lock.tryLock()) {
      joining = waiter;
      thenUnlock(
          joinSteps,
          () -> {
            list.settle(waiter.nowNanos);
            return waiter;
          },
          this::joined);
    }
    return waiter;
  }

  private void joined() {
    joining = null;
    dispatcher.runElsewhere();
  }

  /**
   * Takes {@code waiter} out of the list, returns what it was promised and completes it by {@code
   * completion}.
   *
   * @return false if it was not in the list, as its tokens are there already; else what {@code
   *     completion} says
   */
  boolean leave(Waiter waiter, BooleanSupplier completion) {
    long nowNanos = clock.nanoTime();
    try {
      // A timer completes the waiters that this serves, should its callbacks block.
      return lockedWithoutCallbacks(nowNanos, () -> list.withdraw(waiter, nowNanos))
          && completion.getAsBoolean();
    } finally {
      if (!waiter.isBlocking) {
        dispatcher.run();
      }
    }
  }

  /** Adds tokens, first to waiters. */
  void replenish(long tokens, long nowNanos) {
    locked(nowNanos, () -> give(tokens, nowNanos));
  }

  /** Adds as many tokens as the bucket holds. */
  void reset(long nowNanos) {
    locked(nowNanos, () -> give(bucket.inService(nowNanos).capacity, nowNanos));
  }

  private boolean give(long tokens, long nowNanos) {
    while (!list.give(tokens, nowNanos)) {
      admitArrivals();
    }
    return true;
  }

  /** Changes to another scale and keeps the waiters. */
  void reconfigure(UnitScale scale, long nowNanos) {
    locked(nowNanos, () -> list.change(scale, nowNanos));
  }

  /** Decides for a caller that does not wait, after all waiters that are due. */
  Decision decide(long tokens, long nowNanos) {
    Decision decision;
    do {
      decision =
          this.<@Nullable Decision>lockedWithoutCallbacks(
              nowNanos, () -> list.decide(tokens, nowNanos));
    } while (decision == null);
    return decision;
  }

  /** Brings the list up to date, runs {@code step} under the lock, then completes due waiters. */
  private <T extends @Nullable Object> T locked(long nowNanos, Supplier<T> step) {
    try {
      return settled(nowNanos, step, () -> {});
    } finally {
      dispatcher.run();
    }
  }

  /**
   * {@link #locked} for a thread that did not ask to run the callbacks of others, which may block:
   * another thread completes due waiters.
   */
  private <T extends @Nullable Object> T lockedWithoutCallbacks(long nowNanos, Supplier<T> step) {
    return settled(nowNanos, step, dispatcher::runElsewhere);
  }

  private <T extends @Nullable Object> T settled(
      long nowNanos, Supplier<T> step, Runnable lastUnderLock) {
    lock.lock();
    return thenUnlock(
        Integer.MAX_VALUE,
        () -> {
          list.settle(nowNanos);
          T result = step.get();
          list.settle(nowNanos);
          return result;
        },
        lastUnderLock);
  }

  /** Admits arrivals, runs {@code step}, and releases the lock that the caller holds. */
  private <T extends @Nullable Object> T thenUnlock(
      int mostSteps, Supplier<T> step, Runnable lastUnderLock) {
    try {
      list.allowSteps(mostSteps);
      admitArrivals();
      return step.get();
    } finally {
      try {
        armHead();
      } finally {
        unlock(lastUnderLock);
      }
    }
  }

  /** The lock is released even if the clock of the user or anything else throws. */
  private void unlock(Runnable lastUnderLock) {
    try {
      lastUnderLock.run();
    } finally {
      lock.unlock();
      // Callers that came while the lock was held rely on this.
      getHelp();
    }
  }

  /** Has a thread of the library admit the arrivals, if there are any. */
  private void getHelp() {
    if (bucket.latest().hasArrivals() && helping.compareAndSet(false, true)) {
      alarms.start(this::help);
    }
  }

  private void help() {
    do {
      try {
        lockedWithoutCallbacks(clock.nanoTime(), () -> true);
      } finally {
        helping.set(false);
      }
    } while (bucket.latest().hasArrivals() && helping.compareAndSet(false, true));
  }

  /** Admits the waiters that arrived before this call, as far as steps are left. */
  private void admitArrivals() {
    if (!list.open()) {
      return;
    }
    try {
      Waiter next = arrivals.first();
      for (int left = arrivals.size(); left > 0 && next != null; left--) {
        // First those before it, so that it is not refused for a list that is full of them.
        list.settle(next.nowNanos);
        if (!list.spendStep()) {
          break;
        }
        arrivals.removeFirst();
        admit(next);
        list.settle(next.nowNanos);
        next = arrivals.first();
      }
    } finally {
      if (!arrivals.isEmpty()) {
        bucket.latest().arrive();
      }
      list.closeIfEmpty();
    }
  }

  private void admit(Waiter waiter) {
    if (!list.admit(waiter)) {
      complete(waiter);
    } else if (waiter.maxWaitNanos != FOR_EVER) {
      long dueNanos = waiter.nowNanos + waiter.maxWaitNanos;
      waiter.deadline = alarms.at(dueNanos, () -> expire(waiter));
    }
  }

  private void expire(Waiter waiter) {
    leave(
        waiter,
        () -> {
          waiter.refuseLate();
          waiter.finish();
          return true;
        });
  }

  /** Completes removed waiters: at once if that only wakes a thread, else outside the lock. */
  private void complete(Waiter waiter) {
    if (waiter.isBlocking || waiter == joining) {
      waiter.finish();
    } else {
      dispatcher.add(waiter);
    }
  }

  /** Sets the alarm for the first in the list, if time will serve it. */
  private void armHead() {
    boolean wanted = list.isServedByTime();
    long dueNanos = wanted ? list.headDueNanos(clock.nanoTime()) : 0;
    if (!wanted || dueNanos != headAlarmNanos) {
      silenceHead();
    }
    if (wanted && headAlarm == null) {
      headAlarmNanos = dueNanos;
      headAlarm = alarms.at(dueNanos, this::onHeadDue);
    }
  }

  private void onHeadDue() {
    // Cancels too: an alarm may go off just as it is replaced, and must not lose the other one.
    locked(clock.nanoTime(), this::silenceHead);
  }

  private boolean silenceHead() {
    boolean armed = headAlarm != null;
    if (headAlarm != null) {
      headAlarm.cancel();
      headAlarm = null;
    }
    return armed;
  }
}
