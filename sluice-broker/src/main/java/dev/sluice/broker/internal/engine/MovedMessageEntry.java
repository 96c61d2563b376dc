package dev.sluice.broker.internal.engine;

import dev.sluice.broker.internal.store.MessageId;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A message that has moved: a dead letter, or one that was redriven. It is stored under a new
 * number, as each number is stored once, but keeps the id that its producer was told.
 */
public final class MovedMessageEntry extends MessageEntry {
  private final int firstQueueId;
  private final long firstSequence;

  /** The next one in a chain of {@link MovedMessageIndex}. */
  @Nullable MovedMessageEntry next;

  public MovedMessageEntry(
      BrokerQueue queue,
      long sequence,
      InternedPlacement route,
      int bytes,
      long expiresAt,
      UUID id) {
    super(queue, sequence, route, bytes, expiresAt);
    this.firstQueueId = MessageId.queueId(id);
    this.firstSequence = MessageId.sequence(id);
  }

  @Override
  public UUID id() {
    return MessageId.of(firstQueueId, firstSequence);
  }

  /** Returns the number under which the message was stored first. */
  public long firstSequence() {
    return firstSequence;
  }
}
