package dev.sluice.broker;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened and must not be forgotten; hooks, ids, time and turns have been decided.
 */
sealed interface Fact {
  /** The end of a lease that was given back. */
  long OVER = 0;

  /**
   * A message came.
   *
   * @param availableAt when it may go; its place among the messages of its key after a restart
   * @param body its {@link Envelope}
   */
  @SuppressWarnings("ArrayRecordComponent") // compared by nobody
  record Enqueued(Entry entry, long availableAt, byte[] body) implements Fact {}

  /** A message was not handled. */
  record Failed(Entry entry, int attempts, long availableAt) implements Fact {}

  /** A message went to another queue. */
  record Moved(
      Entry from, Entry to, int attempts, long availableAt, @Nullable DeadLetter deadLetter)
      implements Fact {}

  /** A message is gone: acknowledged, purged, expired, or its queue is deleted. */
  record Removed(Entry entry) implements Fact {}

  /** A message of that id was enqueued, which is remembered for a while. */
  record Remembered(int queueId, String dedupeId, UUID id, long until) implements Fact {}

  /** An id is not remembered any more. */
  record Forgotten(int queueId, String dedupeId) implements Fact {}

  /**
   * A lease ends at another time than was said before.
   *
   * @param until {@link #OVER} if it ended without a failure
   */
  record LeaseChanged(Entry entry, LeaseToken token, int attempts, long until) implements Fact {}

  /** No lease that was stored with that batch can be in force any more. */
  record LeasesOver(int epoch, long batch) implements Fact {}

  /** A configuration value changed; null if it is gone. */
  record ConfigSet(String key, @Nullable String value) implements Fact {}

  /** A throttle key has no rate any more. */
  record LevelDropped(String throttleKey) implements Fact {}

  /** A queue was created or changed. */
  record QueueSaved(int queueId, String name, QueueConfig config, long revisionNumber)
      implements Fact {}

  /** A queue is gone; its messages went before. */
  record QueueDeleted(int queueId) implements Fact {}
}
