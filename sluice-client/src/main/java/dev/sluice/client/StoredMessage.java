package dev.sluice.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A message as it lies in its queue; nobody holds it because of this.
 *
 * @since 0.1
 */
public final class StoredMessage {
  private final dev.sluice.proto.v1.StoredMessage wire;

  StoredMessage(dev.sluice.proto.v1.StoredMessage wire) {
    this.wire = wire;
  }

  /**
   * The server's name for it.
   *
   * @return the id
   */
  public String id() {
    return wire.getId();
  }

  /**
   * What was sent.
   *
   * @return a copy
   */
  public byte[] payload() {
    return wire.getPayload().toByteArray();
  }

  /**
   * What was sent, as UTF-8.
   *
   * @return the text
   */
  public String text() {
    return wire.getPayload().toStringUtf8();
  }

  /**
   * What was sent with it.
   *
   * @return the headers
   */
  public Map<String, String> headers() {
    return wire.getHeadersMap();
  }

  /**
   * Whose turn it takes.
   *
   * @return the fairness key
   */
  public String fairnessKey() {
    return wire.getFairnessKey();
  }

  /**
   * Of what tokens are taken when it is delivered.
   *
   * @return the throttle keys
   */
  public List<String> throttleKeys() {
    return List.copyOf(wire.getThrottleKeysList());
  }

  /**
   * How often it has failed.
   *
   * @return 0 at first
   */
  public int attempts() {
    return wire.getAttempts();
  }

  /**
   * When the server got it.
   *
   * @return the instant, by the server's clock
   */
  public Instant enqueuedAt() {
    return Instant.ofEpochMilli(wire.getEnqueuedAtMs());
  }

  /**
   * When it may be delivered.
   *
   * @return the instant, by the server's clock
   */
  public Instant availableAt() {
    return Instant.ofEpochMilli(wire.getAvailableAtMs());
  }

  /**
   * Why it is in a dead letter queue.
   *
   * @return empty in other queues
   */
  public Optional<DeadLetter> deadLetter() {
    return wire.hasDeadLetter()
        ? Optional.of(DeadLetter.of(wire.getDeadLetter()))
        : Optional.empty();
  }
}
