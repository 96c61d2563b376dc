package dev.sluice.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A message in a queue, read without leasing it.
 *
 * @since 0.1
 */
public final class StoredMessage {
  private final dev.sluice.proto.v1.StoredMessage wire;

  StoredMessage(dev.sluice.proto.v1.StoredMessage wire) {
    this.wire = wire;
  }

  /**
   * Returns the message's id.
   *
   * @return the id
   */
  public String id() {
    return wire.getId();
  }

  /**
   * Returns the payload.
   *
   * @return a copy
   */
  public byte[] payload() {
    return wire.getPayload().toByteArray();
  }

  /**
   * Returns the payload decoded as UTF-8.
   *
   * @return the text
   */
  public String text() {
    return wire.getPayload().toStringUtf8();
  }

  /**
   * Returns the size of the whole payload.
   *
   * @return bytes
   */
  public int payloadSize() {
    return wire.getPayloadSize();
  }

  /**
   * Returns whether the payload is only the beginning of a larger one.
   *
   * @return true if {@link #payload} is shorter than {@link #payloadSize}
   */
  public boolean isTruncated() {
    return wire.getPayloadTruncated();
  }

  /**
   * Returns the headers.
   *
   * @return the headers
   */
  public Map<String, String> headers() {
    return wire.getHeadersMap();
  }

  /**
   * Returns the fairness key.
   *
   * @return the fairness key
   */
  public String fairnessKey() {
    return wire.getFairnessKey();
  }

  /**
   * Returns the throttle keys, whose tokens are taken at delivery.
   *
   * @return the throttle keys
   */
  public List<String> throttleKeys() {
    return List.copyOf(wire.getThrottleKeysList());
  }

  /**
   * Returns the number of failed deliveries.
   *
   * @return 0 at first
   */
  public int attempts() {
    return wire.getAttempts();
  }

  /**
   * Returns when the server received the message.
   *
   * @return the instant, by the server's clock
   */
  public Instant enqueuedAt() {
    return Instant.ofEpochMilli(wire.getEnqueuedAtMs());
  }

  /**
   * Returns when the message can be delivered.
   *
   * @return the instant, by the server's clock
   */
  public Instant availableAt() {
    return Instant.ofEpochMilli(wire.getAvailableAtMs());
  }

  /**
   * Returns why the message is in a dead-letter queue.
   *
   * @return empty in other queues
   */
  public Optional<DeadLetter> deadLetter() {
    return wire.hasDeadLetter()
        ? Optional.of(DeadLetter.of(wire.getDeadLetter()))
        : Optional.empty();
  }
}
