package dev.sluice.internal.bucket;

import dev.sluice.NanoClock;
import dev.sluice.internal.time.ClockTimer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Completes the futures of waiters that were granted or refused: outside every lock, in order, by
 * one thread at a time.
 */
final class CallbackDispatcher {
  /*
   * A callback may come back here, serve others and even wait for them; so the thread whose turn it
   * is goes on with them inside the callback, but only a few times over: beyond that the loops
   * further out do it, and the stack does not grow.
   *
   * A callback that blocks would delay those behind it. If nothing has moved for a while, a timer
   * takes the turn away from that thread and completes some of the others on threads of their own.
   *
   * Its lock is taken under that of the list, and held for a few instructions.
   */

  /** The deepest nesting of callbacks that run other callbacks. */
  private static final int MAX_DEPTH = 8;

  /**
   * The time for which one caller's callback may delay others; long compared with any scheduling
   * delay.
   */
  private static final long RESCUE_NANOS = 100_000_000;

  /** Threads that a rescue may start; callbacks that block tend to come in crowds. */
  private static final int RESCUED_AT_ONCE = 64;

  private final ReentrantLock lock = new ReentrantLock();
  private final NanoClock clock;
  private final ClockTimer alarms;

  // Guarded by lock. Depth is how many loops the thread whose turn it is has begun.
  private final ArrayDeque<Waiter> decided = new ArrayDeque<>();
  private @Nullable Thread turn;
  private int depth;
  private long completions;
  private ClockTimer.@Nullable Timeout rescueAlarm;

  CallbackDispatcher(NanoClock clock, ClockTimer alarms) {
    this.clock = clock;
    this.alarms = alarms;
  }

  /** {@code waiter}, which may have callbacks, is granted or refused. */
  void add(Waiter waiter) {
    lock.lock();
    try {
      decided.add(waiter);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Completes the waiters that were added, unless another thread is doing so. The caller holds no
   * lock.
   */
  void run() {
    if (begin()) {
      for (Waiter next = next(); next != null; next = next()) {
        finish(next);
      }
    }
  }

  /** Completes {@code waiter}, if need be elsewhere: this thread may have no stack left. */
  private void finish(Waiter waiter) {
    try {
      waiter.finish();
    } finally {
      if (!waiter.isDone()) {
        alarms.start(waiter::finish);
      }
    }
  }

  /** Has another thread complete the waiters that were added, soon. */
  void runElsewhere() {
    lock.lock();
    try {
      arm(turn == null ? 0 : RESCUE_NANOS);
    } finally {
      lock.unlock();
    }
  }

  private boolean begin() {
    lock.lock();
    try {
      arm(RESCUE_NANOS);
      if (turn == null) {
        turn = Thread.currentThread();
        depth = 0;
      }
      if (turn != Thread.currentThread() || depth == MAX_DEPTH) {
        return false;
      }
      depth++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable Waiter next() {
    lock.lock();
    try {
      if (turn != Thread.currentThread()) {
        return null;
      }
      completions++;
      Waiter next = decided.poll();
      if (next == null && --depth == 0) {
        turn = null;
      }
      arm(RESCUE_NANOS);
      return next;
    } finally {
      lock.unlock();
    }
  }

  private void arm(long delayNanos) {
    if (decided.isEmpty()) {
      if (rescueAlarm != null) {
        rescueAlarm.cancel();
        rescueAlarm = null;
      }
    } else if (rescueAlarm == null) {
      long seen = completions;
      rescueAlarm = alarms.at(clock.nanoTime() + delayNanos, () -> rescue(seen));
    }
  }

  private void rescue(long seenCompletions) {
    List<Waiter> rescued = new ArrayList<>();
    lock.lock();
    try {
      if (rescueAlarm != null) {
        rescueAlarm.cancel();
        rescueAlarm = null;
      }
      if (turn != null && completions == seenCompletions) {
        turn = null;
        completions++;
        while (rescued.size() < RESCUED_AT_ONCE && !decided.isEmpty()) {
          rescued.add(decided.remove());
        }
      }
    } finally {
      lock.unlock();
    }
    rescued.forEach(waiter -> alarms.start(waiter::finish));
    run();
  }
}
