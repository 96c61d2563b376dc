package dev.sluice.internal.bucket;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Callers on their way into a list, in the order in which they are admitted; lock-free. */
final class ArrivalQueue {
  private final int most;
  private final AtomicInteger size = new AtomicInteger();
  private final Queue<Waiter> queue = new ConcurrentLinkedQueue<>();

  ArrivalQueue(int most) {
    this.most = most;
  }

  /** Adds a waiter; returns false if too many are arriving already. */
  boolean add(Waiter waiter) {
    if (size.incrementAndGet() > most) {
      size.decrementAndGet();
      return false;
    }
    return queue.add(waiter);
  }

  /** Not less than there are, and a little more while callers are being added. */
  int size() {
    return size.get();
  }

  boolean isEmpty() {
    return queue.isEmpty();
  }

  @Nullable Waiter first() {
    return queue.peek();
  }

  void removeFirst() {
    queue.remove();
    size.decrementAndGet();
  }
}
