package dev.sluice.client;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * A message on its way to a queue. An immutable value: {@code
 * Message.of("hello").withKey("tenant-a").withDelay(Duration.ofSeconds(5))}. The server checks the
 * values.
 *
 * @since 0.1
 */
public final class Message {
  private final dev.sluice.proto.v1.Message wire;

  private Message(dev.sluice.proto.v1.Message wire) {
    this.wire = wire;
  }

  /**
   * A message of bytes.
   *
   * @param payload copied
   * @return the message
   */
  public static Message of(byte[] payload) {
    return new Message(
        dev.sluice.proto.v1.Message.newBuilder().setPayload(ByteString.copyFrom(payload)).build());
  }

  /**
   * A message of text, as UTF-8.
   *
   * @param payload the text
   * @return the message
   */
  public static Message of(String payload) {
    return of(payload.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * With a header more.
   *
   * @param name its name; a header of that name is replaced
   * @param value its value
   * @return the message
   */
  public Message withHeader(String name, String value) {
    return new Message(wire.toBuilder().putHeaders(name, value).build());
  }

  /**
   * With a fairness key: whose turn it takes.
   *
   * @param key the key
   * @return the message
   */
  public Message withFairnessKey(String fairnessKey) {
    return new Message(wire.toBuilder().setFairnessKey(fairnessKey).build());
  }

  /**
   * With a weight: how many turns its key has for one of weight 1.
   *
   * @param weight at least 1
   * @return the message
   */
  public Message withWeight(int weight) {
    requirePositive("weight", weight);
    return new Message(wire.toBuilder().setWeight(weight).build());
  }

  /**
   * With a priority: higher ones go first.
   *
   * @param priority 0 is the default
   * @return the message
   */
  public Message withPriority(int priority) {
    if (priority < 0) {
      throw new IllegalArgumentException("priority must not be negative: priority=" + priority);
    }
    return new Message(wire.toBuilder().setPriority(priority).build());
  }

  /**
   * With a throttle key more, of which tokens are taken when it is delivered.
   *
   * @param key the key
   * @param tokens how many, at least 1
   * @return the message
   */
  public Message withThrottleKey(String throttleKey, long tokens) {
    requirePositive("tokens", tokens);
    return new Message(wire.toBuilder().putThrottleKeys(throttleKey, tokens).build());
  }

  /**
   * Not delivered before.
   *
   * @param delay from when the server has it; whole milliseconds
   * @return the message
   */
  public Message withDelay(Duration delay) {
    return new Message(wire.toBuilder().setDelayMs(delay.toMillis()).build());
  }

  /**
   * Fails when it has waited so long, whatever the queue says.
   *
   * @param timeToLive at least a millisecond
   * @return the message
   */
  public Message withTimeToLive(Duration timeToLive) {
    requirePositive("time to live in milliseconds", timeToLive.toMillis());
    return new Message(wire.toBuilder().setTimeToLiveMs(timeToLive.toMillis()).build());
  }

  /**
   * With an id by which the queue knows a message that is sent twice, within its window.
   *
   * @param dedupeId the id
   * @return the message
   */
  public Message withDedupeId(String dedupeId) {
    return new Message(wire.toBuilder().setDedupeId(dedupeId).build());
  }

  private static void requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException("%s must be positive: %d".formatted(name, value));
    }
  }

  dev.sluice.proto.v1.Message toWire() {
    return wire;
  }
}
