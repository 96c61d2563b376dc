package dev.sluice.governor;

import dev.sluice.governor.spi.StoreTimer;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.PriorityQueue;
import java.util.concurrent.Executor;

/** Time that goes on when told to, with all that is due meanwhile, in order, on this thread. */
final class VirtualTimer implements StoreTimer {
  private final PriorityQueue<Due> due =
      new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
  private final Deque<Runnable> untold = new ArrayDeque<>();
  private boolean telling;
  private Executor teller = this::tell;
  private long now;
  private long numbers;

  VirtualTimer() {
    this(0);
  }

  VirtualTimer(long now) {
    this.now = now;
  }

  /** Returns a timer whose callbacks run on another executor. */
  static VirtualTimer telling(Executor teller) {
    VirtualTimer timer = new VirtualTimer();
    timer.teller = teller;
    return timer;
  }

  private record Due(long at, long number, Runnable action) {}

  @Override
  public long nanoTime() {
    return now;
  }

  @Override
  public void schedule(long nanos, Runnable action) {
    due.add(new Due(now + nanos, numbers++, action));
  }

  @Override
  public void execute(Runnable action) {
    teller.execute(action);
  }

  /** At once, but one after the other: the stack does not grow. */
  private void tell(Runnable action) {
    untold.add(action);
    if (!telling) {
      telling = true;
      try {
        for (Runnable next = untold.poll(); next != null; next = untold.poll()) {
          next.run();
        }
      } finally {
        telling = false;
      }
    }
  }

  /** Time goes on, and whatever is due is late. */
  void skip(long nanos) {
    now += nanos;
  }

  void advance(long nanos) {
    long until = now + nanos;
    for (Due next = due.peek(); next != null && next.at() <= until; next = due.peek()) {
      due.remove();
      now = Math.max(now, next.at());
      next.action().run();
    }
    now = until;
  }

  @Override
  public void close() {
    due.clear();
  }
}
