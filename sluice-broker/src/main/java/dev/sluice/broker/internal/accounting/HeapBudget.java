package dev.sluice.broker.internal.accounting;

import dev.sluice.broker.BrokerException;
import dev.sluice.broker.BrokerException.Code;

/**
 * Estimates and bounds the heap of one part of the broker's state, so that callers cannot fill the
 * heap. Used by the thread of the engine alone.
 *
 * <p>Before {@link #bound} there is no limit: state that exists when the broker opens is counted
 * and never refused.
 */
public final class HeapBudget {
  private final String subject;
  private long maxBytes = Long.MAX_VALUE;
  private long used;

  /** The part of {@link #used} that accepted state needs later, and that refuses nothing. */
  private long exempt;

  /** {@code what} names the state in error messages. */
  public HeapBudget(String what) {
    this.subject = what;
  }

  /** Makes {@link #require} refuse state beyond {@code bytes} from now on. */
  public void bound(long bytes) {
    maxBytes = bytes;
  }

  public void add(long bytes) {
    used += bytes;
  }

  public void remove(long bytes) {
    used -= bytes;
  }

  /** Counts bytes that state needs which was accepted before; they take no room of new state. */
  void addExempt(long bytes) {
    used += bytes;
    exempt += bytes;
  }

  void removeExempt(long bytes) {
    used -= bytes;
    exempt -= bytes;
  }

  String subject() {
    return subject;
  }

  long maxBytes() {
    return maxBytes;
  }

  public long used() {
    return used;
  }

  /** Returns the bytes that count against the bound. */
  long bounded() {
    return used - exempt;
  }

  /**
   * Checks that there is room.
   *
   * @throws BrokerException if {@code more} bytes would exceed the bound
   */
  public void require(long more) {
    if (more > 0 && more > maxBytes - bounded()) {
      throw new BrokerException(
          Code.HEAP_FULL,
          "%s must take at most %d bytes of the heap, but take %d and would take %d more"
              .formatted(subject, maxBytes, bounded(), more));
    }
  }
}
