package dev.sluice.broker;

import dev.sluice.ScheduledItem;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What is in memory of a message: not its payload, and nothing by name. */
class Entry {
  /** The estimated heap of an entry, with its place and its lease. */
  static final long HEAP_BYTES = 200;

  /** Where a message stands. */
  enum Stage {
    /** What happened to it last is not stored yet. */
    COMMITTING,
    /** It may not go before its timer is due. */
    DELAYED,
    /** It waits in the scheduler. */
    PENDING,
    /** A consumer has it. */
    LEASED,
    /** A script is asked what becomes of it. */
    FAILING,
    /** It is about to be moved to another queue. */
    MOVING,
    /** It does not exist any more. */
    GONE
  }

  final Line line;
  final long sequence;
  final Route route;

  /** The size of its {@link Envelope}. */
  final int bytes;

  /** How often it failed. */
  int attempts;

  Stage stage = Stage.COMMITTING;

  /** The second from which it may be delivered, once that has come; see {@link ReadyAges}. */
  int readySince;

  /** Broker time after which it is given up; {@link Long#MAX_VALUE} for never. */
  final long expiresAt;

  /** Its place in the scheduler while it is pending, and while it is leased the one it had. */
  @Nullable ScheduledItem<Entry> scheduled;

  /** Its {@link Envelope}, as long as it is at hand; see {@link BrokerState#keepBody}. */
  byte @Nullable [] body;

  /** Its lease, or what it waits for. */
  @Nullable Timer timer;

  Entry(Line line, long sequence, Route route, int bytes, long expiresAt) {
    this.line = line;
    this.sequence = sequence;
    this.route = route;
    this.bytes = bytes;
    this.expiresAt = expiresAt;
  }

  /** Returns the id that the message has had since it was enqueued. */
  UUID id() {
    return place();
  }

  /** Returns an id that says where the message is stored; no other message ever has the same. */
  final UUID place() {
    return MessageId.of(line.id, sequence);
  }

  final @Nullable Lease lease() {
    return timer instanceof Lease lease ? lease : null;
  }

  @Override
  public String toString() {
    return line.name + "#" + sequence + " " + stage;
  }
}
