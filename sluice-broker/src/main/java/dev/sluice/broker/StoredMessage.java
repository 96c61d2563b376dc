package dev.sluice.broker;

import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * A message as it lies in a queue.
 *
 * @param id its id
 * @param fairnessKey its fairness key
 * @param throttleKeys the throttle keys it obeys
 * @param attempts how often it failed
 * @param availableAt since when it may go, or from when on
 * @param enqueuedAt when it was enqueued
 * @param headers its headers
 * @param payload its content, or as much of it as was asked for
 * @param payloadSize how much there is of it
 * @param deadLetter why it is a dead letter; empty if it is none
 * @since 0.1
 */
@SuppressWarnings("ArrayRecordComponent") // shown, not compared
public record StoredMessage(
    UUID id,
    String fairnessKey,
    Set<String> throttleKeys,
    int attempts,
    Instant availableAt,
    Instant enqueuedAt,
    java.util.Map<String, String> headers,
    byte[] payload,
    int payloadSize,
    Optional<DeadLetter> deadLetter) {
  /**
   * Whether there is more of the payload.
   *
   * @return true if less was asked for
   */
  public boolean isTruncated() {
    return payload.length < payloadSize;
  }
}
