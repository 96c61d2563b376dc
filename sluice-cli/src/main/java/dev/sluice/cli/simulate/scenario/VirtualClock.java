package dev.sluice.cli.simulate.scenario;

import dev.sluice.governor.spi.StoreTimer;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * A time that jumps from one event to the next, for one thread. Events of the same instant happen
 * in the order in which they were announced, so that a run is the same every time.
 */
final class VirtualClock implements StoreTimer {
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::number));
  private long now;
  private long announced;

  private record Event(long at, long number, Runnable action) {}

  @Override
  public long nanoTime() {
    return now;
  }

  void at(long nanos, Runnable action) {
    events.add(new Event(Math.max(now, nanos), announced++, action));
  }

  @Override
  public void schedule(long nanos, Runnable action) {
    at(now + nanos, action);
  }

  @Override
  public void execute(Runnable action) {
    at(now, action);
  }

  /** Runs all events until {@code nanos}, inclusive. */
  void runUntil(long nanos) {
    for (Event next = events.peek(); next != null && next.at() <= nanos; next = events.peek()) {
      events.remove();
      now = next.at();
      next.action().run();
    }
    now = nanos;
  }

  /** Does nothing: all users share this clock, which ends with the run. */
  @Override
  public void close() {}
}
