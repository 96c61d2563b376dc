package dev.sluice.broker.internal.runtime;

import dev.sluice.broker.internal.engine.BrokerEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Inputs on their way to the engine: messages in a bounded queue, all other inputs in an unbounded
 * one, so that a flood of messages does not keep consumers from settling.
 */
final class Inbox {
  private final long maxBytes;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition arrived = lock.newCondition();

  // Guarded by lock.
  private List<Consumer<BrokerEngine>> control = new ArrayList<>();
  private List<Consumer<BrokerEngine>> messages = new ArrayList<>();
  private long bytes;
  private boolean closed;

  Inbox(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** Returns false if closed. */
  boolean put(Consumer<BrokerEngine> input) {
    lock.lock();
    try {
      if (closed) {
        return false;
      }
      control.add(input);
      arrived.signal();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether it was taken; where it was not, the lane is full. */
  boolean putMessages(Consumer<BrokerEngine> input, long size) {
    lock.lock();
    try {
      if (closed || (!messages.isEmpty() && bytes + size > maxBytes)) {
        return false;
      }
      messages.add(input);
      bytes += size;
      arrived.signal();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Moves all inputs that have arrived into {@code inputs}; waits for one if there is none.
   *
   * @param withMessages false to leave messages where they are
   */
  void drainTo(List<Consumer<BrokerEngine>> inputs, boolean withMessages, long waitNanos)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = waitNanos;
      while (control.isEmpty() && !(withMessages && !messages.isEmpty()) && left > 0 && !closed) {
        left = arrived.awaitNanos(left);
      }
      inputs.addAll(control);
      control.clear();
      if (withMessages) {
        inputs.addAll(messages);
        messages.clear();
        bytes = 0;
      }
    } finally {
      lock.unlock();
    }
  }

  /** Accepts no further inputs; those that have arrived can still be drained. */
  void close() {
    lock.lock();
    try {
      closed = true;
      arrived.signal();
    } finally {
      lock.unlock();
    }
  }

  boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }
}
