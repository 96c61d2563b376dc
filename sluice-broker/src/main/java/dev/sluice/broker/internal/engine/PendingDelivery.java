package dev.sluice.broker.internal.engine;

import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.internal.store.MessageEnvelope;
import org.jspecify.annotations.Nullable;

/**
 * A leased message on its way to a consumer.
 *
 * @param until broker time at which the lease ends
 * @param body its {@link MessageEnvelope}; null if it has to be read
 */
public @SuppressWarnings("ArrayRecordComponent") // never compared
record PendingDelivery(
    ConsumerState consumer, Lease lease, int attempts, long until, byte @Nullable [] body) {
  static PendingDelivery of(Lease lease, ConsumerState to, byte @Nullable [] body) {
    return new PendingDelivery(to, lease, lease.entry.attempts, lease.due, body);
  }

  /** Returns this delivery without its body, which is read when the message is polled. */
  PendingDelivery withoutBody() {
    return new PendingDelivery(consumer, lease, attempts, until, null);
  }

  public int bodyBytes() {
    return body == null ? 0 : body.length;
  }

  public MessageEntry entry() {
    return lease.entry;
  }

  public LeaseToken token() {
    return lease.token;
  }
}
