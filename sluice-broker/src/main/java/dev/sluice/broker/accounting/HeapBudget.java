package dev.sluice.broker.accounting;

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

  String subject() {
    return subject;
  }

  long maxBytes() {
    return maxBytes;
  }

  public long used() {
    return used;
  }

  /**
   * Checks that there is room.
   *
   * @throws BrokerException if {@code more} bytes would exceed the bound
   */
  public void require(long more) {
    if (more > 0 && more > maxBytes - used) {
      throw new BrokerException(
          Code.HEAP_FULL,
          "%s must take at most %d bytes of the heap, but take %d and would take %d more"
              .formatted(subject, maxBytes, used, more));
    }
  }
}
