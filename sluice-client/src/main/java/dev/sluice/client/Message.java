package dev.sluice.client;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;

/**
 * A message to enqueue. Immutable: {@code
 * Message.of("hello").withFairnessKey("tenant-a").withDelay(Duration.ofSeconds(5))}. The server
 * checks the values.
 *
 * @since 0.1
 */
public final class Message {
  private final dev.sluice.proto.v1.Message wire;

  private Message(dev.sluice.proto.v1.Message wire) {
    this.wire = wire;
  }

  /**
   * Returns a message with a binary payload.
   *
   * @param payload copied
   * @return the message
   */
  public static Message of(byte[] payload) {
    return new Message(
        dev.sluice.proto.v1.Message.newBuilder().setPayload(ByteString.copyFrom(payload)).build());
  }

  /**
   * Returns a message with a text payload, encoded as UTF-8.
   *
   * @param payload the text
   * @return the message
   */
  public static Message of(String payload) {
    return of(payload.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns this message with a header. A header of the same name is replaced.
   *
   * @param name the header's name
   * @param value the header's value
   * @return the changed message
   */
  public Message withHeader(String name, String value) {
    return new Message(wire.toBuilder().putHeaders(name, value).build());
  }

  /**
   * Returns this message with headers. Headers of the same names are replaced.
   *
   * @param headers values by name
   * @return the changed message
   */
  public Message withHeaders(Map<String, String> headers) {
    return new Message(wire.toBuilder().putAllHeaders(headers).build());
  }

  /**
   * Returns this message with a fairness key: the tenant, customer or user that it belongs to.
   *
   * @param fairnessKey the key
   * @return the changed message
   */
  public Message withFairnessKey(String fairnessKey) {
    return new Message(wire.toBuilder().setFairnessKey(fairnessKey).build());
  }

  /**
   * Returns this message with a weight: the share of its fairness key relative to other keys.
   *
   * @param weight at least 1
   * @return the changed message
   */
  public Message withWeight(int weight) {
    requirePositive("weight", weight);
    return new Message(wire.toBuilder().setWeight(weight).build());
  }

  /**
   * Returns this message with a priority. Messages of higher priority are delivered first.
   *
   * @param priority at least 0, the default
   * @return the changed message
   */
  public Message withPriority(int priority) {
    if (priority < 0) {
      throw new IllegalArgumentException("priority must not be negative, but was " + priority);
    }
    return new Message(wire.toBuilder().setPriority(priority).build());
  }

  /**
   * Returns this message with throttle keys, of which delivery takes one token each.
   *
   * @param throttleKeys the keys
   * @return the changed message
   */
  public Message withThrottleKeys(String... throttleKeys) {
    Message message = this;
    for (String throttleKey : throttleKeys) {
      message = message.withThrottleKey(throttleKey, 1);
    }
    return message;
  }

  /**
   * Returns this message with a throttle key, whose tokens are taken at delivery.
   *
   * @param throttleKey the key
   * @param tokens tokens to take, at least 1
   * @return the changed message
   */
  public Message withThrottleKey(String throttleKey, long tokens) {
    requirePositive("tokens", tokens);
    return new Message(wire.toBuilder().putThrottleKeys(throttleKey, tokens).build());
  }

  /**
   * Returns this message with a delay before it can be delivered.
   *
   * @param delay counted from the server's receipt; whole milliseconds
   * @return the changed message
   */
  public Message withDelay(Duration delay) {
    return new Message(wire.toBuilder().setDelayMs(delay.toMillis()).build());
  }

  /**
   * Returns this message with a time to live, which overrides that of the queue.
   *
   * @param timeToLive at least a millisecond; whole milliseconds
   * @return the changed message
   */
  public Message withTimeToLive(Duration timeToLive) {
    requirePositive("time to live in milliseconds", timeToLive.toMillis());
    return new Message(wire.toBuilder().setTimeToLiveMs(timeToLive.toMillis()).build());
  }

  /**
   * Returns this message with a dedupe id. Within the queue's window, a second message with the
   * same id is not stored.
   *
   * @param dedupeId the id
   * @return the changed message
   */
  public Message withDedupeId(String dedupeId) {
    return new Message(wire.toBuilder().setDedupeId(dedupeId).build());
  }

  private static void requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException("%s must be positive, but was %d".formatted(name, value));
    }
  }

  dev.sluice.proto.v1.Message toWire() {
    return wire;
  }
}
