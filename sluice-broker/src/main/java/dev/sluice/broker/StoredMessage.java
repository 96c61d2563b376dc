package dev.sluice.broker;

import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * A message in a queue, as {@link BrokerView#browse} reads it.
 *
 * @param id the id
 * @param fairnessKey the fairness key
 * @param throttleKeys the throttle keys
 * @param attempts the failed deliveries so far
 * @param availableAt the time since which, or from which on, it can be delivered
 * @param enqueuedAt the time when it was enqueued
 * @param headers the headers
 * @param payload the payload, cut at the requested size
 * @param payloadSize the size of the whole payload in bytes
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
   * Returns whether the payload is cut.
   *
   * @return true if {@code payload} is shorter than {@code payloadSize}
   */
  public boolean isTruncated() {
    return payload.length < payloadSize;
  }
}
