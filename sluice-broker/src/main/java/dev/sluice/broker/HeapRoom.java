package dev.sluice.broker;

import dev.sluice.broker.BrokerException.Code;

/**
 * How much heap a part of the broker's state takes, by estimate, and how much it may: what callers
 * make the broker keep must not end it. Belongs to the thread of the state machine.
 *
 * <p>Without {@link #bound} there is as much room as one likes. What is there when the broker opens
 * is counted and never refused.
 */
final class HeapRoom {
  private final String what;
  private long most = Long.MAX_VALUE;
  private long used;

  /** {@code what} takes the room, for messages. */
  HeapRoom(String what) {
    this.what = what;
  }

  /** From now on {@link #require} refuses what would take more than {@code bytes}. */
  void bound(long bytes) {
    most = bytes;
  }

  void add(long bytes) {
    used += bytes;
  }

  void remove(long bytes) {
    used -= bytes;
  }

  long used() {
    return used;
  }

  /**
   * Checks that there is room.
   *
   * @throws BrokerException if {@code more} bytes would be too many
   */
  void require(long more) {
    if (more > 0 && more > most - used) {
      throw new BrokerException(
          Code.HEAP_FULL,
          "%s must take at most %d bytes of the heap, but take %d and would take %d more"
              .formatted(what, most, used, more));
    }
  }
}
