package dev.sluice.server.http;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Calls that go on until something happens; they end at once when the server stops. */
final class WaitingCalls {
  // Guarded by this.
  private final Set<Runnable> ends = new HashSet<>();
  private boolean ended;

  /** {@code end} is called once, now if the server is stopping, unless it is removed before. */
  void add(Runnable end) {
    synchronized (this) {
      if (!ended) {
        ends.add(end);
        return;
      }
    }
    end.run();
  }

  synchronized void remove(Runnable end) {
    ends.remove(end);
  }

  void end() {
    List<Runnable> all;
    synchronized (this) {
      ended = true;
      all = List.copyOf(ends);
      ends.clear();
    }
    all.forEach(Runnable::run);
  }
}
