package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/** The right to settle a message, until it is due. */
final class Lease extends Timer {
  final Entry entry;
  final LeaseToken token;

  /** Who has it; null after a restart. */
  final @Nullable Subscriber holder;

  // Neighbours in the list of the holder's leases.
  @Nullable Lease before;
  @Nullable Lease after;

  Lease(Entry entry, LeaseToken token, @Nullable Subscriber holder) {
    this.entry = entry;
    this.token = token;
    this.holder = holder;
  }

  @Override
  public String toString() {
    return token + " of " + entry;
  }
}
