package dev.sluice.broker.internal.engine;

import dev.sluice.ScheduledItem;
import dev.sluice.broker.internal.accounting.ReadyAgeHistogram;
import dev.sluice.broker.internal.store.MessageEnvelope;
import dev.sluice.broker.internal.store.MessageId;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The state of a message in memory, without payload and headers. */
public class MessageEntry {
  /** The estimated heap of an entry, with its place and its lease. */
  public static final long HEAP_BYTES = 200;

  /** The stages of a message. */
  public enum Stage {
    /** Its last change is not stored yet. */
    COMMITTING,
    /** It cannot be delivered before its timer is due. */
    DELAYED,
    /** It waits in the scheduler. */
    PENDING,
    /** It is leased. */
    LEASED,
    /** It failed, and {@code on_failure} or the writer decides what happens next. */
    FAILING,
    /** It is about to be moved to another queue. */
    MOVING,
    /** It does not exist anymore. */
    GONE
  }

  public final BrokerQueue queue;
  public final long sequence;
  public final InternedPlacement placement;

  /** The size of its {@link MessageEnvelope}. */
  public final int bytes;

  /** Its failed deliveries. */
  public int attempts;

  public Stage stage = Stage.COMMITTING;

  /** The second since which it has been ready for delivery, by {@link ReadyAgeHistogram#second}. */
  public int readySince;

  /** Broker time at which it expires; {@link Long#MAX_VALUE} for never. */
  public final long expiresAt;

  /** Its place in the scheduler while it is pending, and while it is leased the one it had. */
  @Nullable ScheduledItem<MessageEntry> scheduled;

  /** Its {@link MessageEnvelope}, while it is cached; see {@link EngineState#cacheBody}. */
  byte @Nullable [] body;

  /** Its lease, or the timer that it waits for. */
  @Nullable EngineTimer timer;

  MessageEntry(
      BrokerQueue brokerQueue, long sequence, InternedPlacement route, int bytes, long expiresAt) {
    this.queue = brokerQueue;
    this.sequence = sequence;
    this.placement = route;
    this.bytes = bytes;
    this.expiresAt = expiresAt;
  }

  /** Returns the id that the message has had since it was enqueued. */
  public UUID id() {
    return storedId();
  }

  /** Returns an id that says where the message is stored; no other message ever has the same. */
  public final UUID storedId() {
    return MessageId.of(queue.id, sequence);
  }

  public final @Nullable Lease lease() {
    return timer instanceof Lease lease ? lease : null;
  }

  @Override
  public String toString() {
    return queue.name + "#" + sequence + " " + stage;
  }
}
