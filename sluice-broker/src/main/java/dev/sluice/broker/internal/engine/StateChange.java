package dev.sluice.broker.internal.engine;

import dev.sluice.broker.DeadLetter;
import dev.sluice.broker.LeaseToken;
import dev.sluice.broker.QueueConfig;
import dev.sluice.broker.internal.store.MessageEnvelope;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A change of the state that must be stored; all decisions about it have been made. */
sealed interface StateChange {
  /** The end of a lease that was given back. */
  long ENDED = 0;

  /**
   * A message came.
   *
   * @param availableAt when it can be delivered; orders the messages of its key after a restart
   * @param body its {@link MessageEnvelope}
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Enqueued(MessageEntry entry, long availableAt, byte[] body) implements StateChange {}

  /** A message was not handled. */
  record Failed(MessageEntry entry, int attempts, long availableAt) implements StateChange {}

  /** A message went to another queue. */
  record Moved(
      MessageEntry from,
      MessageEntry to,
      int attempts,
      long availableAt,
      @Nullable DeadLetter deadLetter)
      implements StateChange {}

  /** A message was removed: acknowledged, purged, expired, or its queue deleted. */
  record Removed(MessageEntry entry) implements StateChange {}

  /** A message of that id was enqueued, which is remembered for a while. */
  record DedupeAdded(int queueId, String dedupeId, UUID id, long until) implements StateChange {}

  /** An id is not remembered any more. */
  record DedupeRemoved(int queueId, String dedupeId) implements StateChange {}

  /**
   * A lease ends at another time than was said before.
   *
   * @param until {@link #ENDED} if it ended without a failure
   */
  record LeaseChanged(MessageEntry entry, LeaseToken token, int attempts, long until)
      implements StateChange {}

  /** No lease that was stored with that batch can be in force any more. */
  record LeasesEnded(int epoch, long batch) implements StateChange {}

  /** A config entry changed; null if it was removed. */
  record ConfigSet(String key, @Nullable String value) implements StateChange {}

  /** A limit was removed. */
  record LevelDropped(String throttleKey) implements StateChange {}

  /** A queue was created or changed. */
  record QueueSaved(int queueId, String name, QueueConfig config, long revisionNumber)
      implements StateChange {}

  /** A queue was deleted; its messages were removed before. */
  record QueueDeleted(int queueId) implements StateChange {}
}
