package dev.sluice.redis.internal.connection;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;

/** Lets this node decide by itself, from a certain moment until it is shut. Thread-safe. */
final class LocalDecisionGate {
  private final FleetScheduler time;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private final long createdNanos;
  private volatile boolean open = true;
  private volatile long fromNanos;
  private volatile boolean used;

  /** Creates a gate that is open. */
  LocalDecisionGate(FleetScheduler time) {
    this.time = time;
    this.createdNanos = time.nanoTime();
    this.fromNanos = createdNanos;
  }

  /** Returns from when decisions are made here. */
  long fromNanos() {
    return fromNanos;
  }

  /**
   * Returns since when a node that never was a member may have decided here; empty if it has not.
   */
  OptionalLong usedSinceNanos() {
    return used ? OptionalLong.of(createdNanos) : OptionalLong.empty();
  }

  /** Opens from {@code nanos} on. */
  void openFrom(long nanos) {
    fromNanos = nanos;
    open = true;
  }

  /** Shuts; waits for decisions that are under way, and lets none be made from now on. */
  void shut() {
    lock.writeLock().lock();
    try {
      open = false;
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Decides; empty if the gate is shut, or not open yet. */
  <T> Optional<T> decide(Supplier<T> decision) {
    lock.readLock().lock();
    try {
      if (!open || fromNanos - time.nanoTime() > 0) {
        return Optional.empty();
      }
      used = true;
      return Optional.of(decision.get());
    } finally {
      lock.readLock().unlock();
    }
  }
}
