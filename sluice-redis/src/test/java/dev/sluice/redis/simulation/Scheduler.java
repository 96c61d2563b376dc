package dev.sluice.redis.simulation;

import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/** Virtual time: runs events one after the other, in the order of their times. */
public final class Scheduler {
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private long nowNanos;
  private long numbers;

  /** The process in which events happen; while it is paused they wait. */
  public interface SimulatedProcess {
    /** Returns whether it has not been killed. */
    boolean isAlive();

    /** Returns until when the process stands still; a time that has passed if it runs. */
    long pausedUntilNanos(boolean isReply);
  }

  private record Event(
      long nanos, long number, @Nullable SimulatedProcess process, boolean isReply, Runnable work)
      implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      return nanos == other.nanos
          ? Long.compare(number, other.number)
          : Long.compare(nanos, other.nanos);
    }
  }

  /** Returns the time that has really passed; no clock of a node. */
  public long nanos() {
    return nowNanos;
  }

  /** Runs {@code work} later, outside of any node. */
  public void after(long nanos, Runnable work) {
    add(nowNanos + Math.max(0, nanos), null, false, work);
  }

  /** Runs {@code work} later in a node. */
  public void after(long nanos, SimulatedProcess process, Runnable work) {
    add(nowNanos + Math.max(0, nanos), process, false, work);
  }

  /** Has a node receive something later. */
  public void receive(long nanos, SimulatedProcess process, Runnable work) {
    add(nowNanos + Math.max(0, nanos), process, true, work);
  }

  private void add(long nanos, @Nullable SimulatedProcess process, boolean isReply, Runnable work) {
    events.add(new Event(nanos, numbers++, process, isReply, work));
  }

  /** Runs all events up to a time. */
  public void runUntil(long nanos) {
    for (Event next = events.peek(); next != null && next.nanos <= nanos; next = events.peek()) {
      events.poll();
      nowNanos = next.nanos;
      run(next);
    }
    nowNanos = nanos;
  }

  private void run(Event event) {
    SimulatedProcess process = event.process;
    if (process == null) {
      event.work.run();
    } else if (process.isAlive()) {
      long paused = process.pausedUntilNanos(event.isReply);
      if (paused > nowNanos) {
        add(paused, process, event.isReply, event.work);
      } else {
        event.work.run();
      }
    }
  }
}
