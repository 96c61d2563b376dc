package dev.sluice.broker.internal.engine;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Timers by when they are due: a binary heap in which each knows its place. */
public final class TimerHeap {
  private @Nullable EngineTimer[] heap = new EngineTimer[64];
  private int size;

  int size() {
    return size;
  }

  /** When the first is due; {@link Long#MAX_VALUE} without one. */
  public long firstDue() {
    EngineTimer first = heap[0];
    return first == null ? Long.MAX_VALUE : first.due;
  }

  /** Takes out one that is due, if one is. */
  @Nullable EngineTimer pollDue(long now) {
    EngineTimer first = heap[0];
    if (first == null || first.due > now) {
      return null;
    }
    remove(first);
    return first;
  }

  /** Puts {@code timer} in, or to another place if it is in. */
  void set(EngineTimer timer, long due) {
    timer.due = due;
    if (timer.slot < 0) {
      if (size == heap.length) {
        heap = Arrays.copyOf(heap, 2 * size);
      }
      place(timer, size++);
    }
    settle(timer);
  }

  /** Takes {@code timer} out, if it is in. */
  void remove(EngineTimer timer) {
    int slot = timer.slot;
    if (slot < 0) {
      return;
    }
    timer.slot = -1;
    EngineTimer last = heap[--size];
    heap[size] = null;
    if (last != null && last != timer) {
      place(last, slot);
      settle(last);
    }
  }

  private void settle(EngineTimer timer) {
    int slot = timer.slot;
    while (slot > 0 && at((slot - 1) >>> 1).due > timer.due) {
      place(at((slot - 1) >>> 1), slot);
      slot = (slot - 1) >>> 1;
    }
    for (int child = 2 * slot + 1; child < size; child = 2 * slot + 1) {
      if (child + 1 < size && at(child + 1).due < at(child).due) {
        child++;
      }
      if (at(child).due >= timer.due) {
        break;
      }
      place(at(child), slot);
      slot = child;
    }
    place(timer, slot);
  }

  private EngineTimer at(int slot) {
    EngineTimer timer = heap[slot];
    if (timer == null) {
      throw new IllegalStateException("no timer at " + slot);
    }
    return timer;
  }

  private void place(EngineTimer timer, int slot) {
    heap[slot] = timer;
    timer.slot = slot;
  }
}
