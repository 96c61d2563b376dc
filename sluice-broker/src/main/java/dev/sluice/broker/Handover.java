package dev.sluice.broker;

import org.jspecify.annotations.Nullable;

/**
 * A message on its way to a consumer.
 *
 * @param until broker time at which the lease ends
 * @param body its {@link Envelope}; null if it has to be read
 */
@SuppressWarnings("ArrayRecordComponent") // compared by nobody
record Handover(Subscriber to, Lease lease, int attempts, long until, byte @Nullable [] body) {
  static Handover of(Lease lease, Subscriber to, byte @Nullable [] body) {
    return new Handover(to, lease, lease.entry.attempts, lease.due, body);
  }

  /** To be read when it is wanted. */
  Handover withoutBody() {
    return new Handover(to, lease, attempts, until, null);
  }

  int bodyBytes() {
    return body == null ? 0 : body.length;
  }

  Entry entry() {
    return lease.entry;
  }

  LeaseToken token() {
    return lease.token;
  }
}
