package dev.sluice.server;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.Executor;

/**
 * Divides threads among accounts: one account has a part of them at most, and the rest of its work
 * waits in the order in which it came. So costly requests of one account leave threads to others.
 * Thread-safe.
 */
final class WorkShares {
  private final int most;

  // Guarded by this.
  private final Map<Object, Owner> owners = new HashMap<>();

  /** An account, or a connection where there are no accounts, that has work. */
  private static final class Owner {
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int running;
  }

  /** {@code most} is how many threads one account may have at once. */
  WorkShares(int most) {
    this.most = most;
  }

  /** Returns an executor that runs the work of {@code owner} on {@code threads}. */
  Executor of(Object owner, Executor threads) {
    return work -> begin(owner, () -> threads.execute(() -> run(owner, work)));
  }

  private void begin(Object owner, Runnable start) {
    synchronized (this) {
      Owner mine = owners.computeIfAbsent(owner, same -> new Owner());
      if (mine.running >= most) {
        mine.waiting.add(start);
        return;
      }
      mine.running++;
    }
    start.run();
  }

  private void run(Object owner, Runnable work) {
    try {
      work.run();
    } finally {
      over(owner);
    }
  }

  private void over(Object owner) {
    Runnable next;
    synchronized (this) {
      Owner mine = Objects.requireNonNull(owners.get(owner));
      next = mine.waiting.poll();
      mine.running -= next == null ? 1 : 0;
      if (mine.running == 0) {
        owners.remove(owner);
      }
    }
    if (next != null) {
      next.run();
    }
  }

  /** Returns how many owners have work. */
  synchronized int owners() {
    return owners.size();
  }
}
