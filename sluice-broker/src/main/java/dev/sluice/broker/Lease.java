package dev.sluice.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The right to settle a message, until it is due. */
final class Lease extends Timer {
  final Entry entry;
  final LeaseToken token;

  /** Who has it; null after a restart. */
  final @Nullable Subscriber holder;

  /** The rows in which it is stored. */
  final List<LeaseRow> rows = new ArrayList<>(1);

  private final AtomicBoolean claimed = new AtomicBoolean();

  // Neighbours in the list of the holder's leases.
  @Nullable Lease before;
  @Nullable Lease after;

  Lease(Entry entry, LeaseToken token, @Nullable Subscriber holder) {
    this.entry = entry;
    this.token = token;
    this.holder = holder;
  }

  /**
   * Called once when the holder takes the message and once when the lease ends.
   *
   * @return true to whoever came first
   */
  boolean claim() {
    return claimed.compareAndSet(false, true);
  }

  @Override
  public String toString() {
    return token + " of " + entry;
  }
}
