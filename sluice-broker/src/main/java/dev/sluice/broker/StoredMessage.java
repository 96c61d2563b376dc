package dev.sluice.broker;

import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * A message as it lies in a queue.
 *
 * @param id its id
 * @param key its fairness key
 * @param throttles the throttle keys it obeys
 * @param attempts how often it failed
 * @param availableAt since when it may go, or from when on
 * @param enqueuedAt when it was enqueued
 * @param headers its headers
 * @param payload its content, or as much of it as was asked for
 * @param payloadBytes how much there is of it
 * @param deadLetter why it is a dead letter; empty if it is none
 * @since 0.1
 */
@SuppressWarnings("ArrayRecordComponent") // shown, not compared
public record StoredMessage(
    UUID id,
    String key,
    Set<String> throttles,
    int attempts,
    Instant availableAt,
    Instant enqueuedAt,
    java.util.Map<String, String> headers,
    byte[] payload,
    int payloadBytes,
    Optional<DeadLetter> deadLetter) {
  /**
   * Whether there is more of the payload.
   *
   * @return true if less was asked for
   */
  public boolean isCut() {
    return payload.length < payloadBytes;
  }
}
