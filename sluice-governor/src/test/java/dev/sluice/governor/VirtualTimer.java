package dev.sluice.governor;

import java.util.Comparator;
import java.util.PriorityQueue;

/** Time that goes on when told to, with all that is due meanwhile, in order, on this thread. */
final class VirtualTimer implements GovernorTimer {
  private final PriorityQueue<Due> due =
      new PriorityQueue<>(Comparator.comparingLong(Due::at).thenComparingLong(Due::number));
  private long now;
  private long numbers;

  VirtualTimer() {
    this(0);
  }

  VirtualTimer(long now) {
    this.now = now;
  }

  private record Due(long at, long number, Runnable action) {}

  @Override
  public long now() {
    return now;
  }

  @Override
  public void after(long nanos, Runnable action) {
    due.add(new Due(now + nanos, numbers++, action));
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
