package dev.sluice.broker;

import static dev.sluice.broker.internal.util.Checks.requireBetween;
import static dev.sluice.broker.internal.util.Checks.requireDuration;
import static dev.sluice.broker.internal.util.Checks.requireKey;

import dev.sluice.Placement;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A message to enqueue: a payload with headers and scheduling attributes, for example {@code
 * Message.of(bytes).withFairnessKey("tenant-a").withThrottleKeys("provider:x")}.
 *
 * <p>Immutable, except that payloads are not copied. {@code on_enqueue} of the queue overrides
 * fairness key, weight and throttle keys.
 *
 * @since 0.1
 */
public final class Message {
  /** The fairness key of a message that does not set one. */
  public static final String DEFAULT_FAIRNESS_KEY = "default";

  /** The most throttle keys of a message. */
  public static final int MAX_THROTTLE_KEYS = 16;

  /** The most headers of a message. */
  public static final int MAX_HEADERS = 100;

  /** The most bytes of all headers together, in UTF-8. */
  public static final int MAX_HEADER_BYTES = 64 * 1024;

  /** The longest delay. */
  public static final Duration MAX_DELAY = QueueConfig.MAX_DURATION;

  private final byte[] payload;
  private final Map<String, String> headers;
  private final String fairnessKey;
  private final int weight;
  private final int priority;
  private final SortedMap<String, Long> throttleKeys;
  private final Duration delay;
  private final Duration timeToLive;
  private final @Nullable String dedupeId;

  private Message(Draft draft) {
    this.payload = draft.payload;
    this.headers = draft.headers;
    this.fairnessKey = draft.fairnessKey;
    this.weight = draft.weight;
    this.priority = draft.priority;
    this.throttleKeys = draft.throttleKeys;
    this.delay = draft.delay;
    this.timeToLive = draft.timeToLive;
    this.dedupeId = draft.dedupeId;
  }

  /**
   * Returns a message without headers, of fairness key {@link #DEFAULT_FAIRNESS_KEY} and weight 1.
   *
   * @param payload the content; not copied, so the caller must not change it afterwards
   * @return the message
   */
  public static Message of(byte[] payload) {
    return new Draft(Objects.requireNonNull(payload, "payload")).message();
  }

  /**
   * Returns a message whose payload is text in UTF-8.
   *
   * @param payload the content
   * @return the message
   */
  public static Message of(String payload) {
    return of(payload.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Returns this message with one more header.
   *
   * @param name the name of the header
   * @param value its value
   * @return a new message
   */
  public Message withHeader(String name, String value) {
    Map<String, String> more = new TreeMap<>(headers);
    more.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(value, "value"));
    return withHeaders(more);
  }

  /**
   * Returns this message with {@code newHeaders} instead of its headers.
   *
   * @param newHeaders values by name, at most {@link #MAX_HEADERS}
   * @return a new message
   */
  public Message withHeaders(Map<String, String> newHeaders) {
    requireBetween("number of headers", newHeaders.size(), 0, MAX_HEADERS);
    // Map.copyOf takes quadratic time for names whose hashes collide.
    Map<String, String> copy = new LinkedHashMap<>();
    long bytes = 0;
    for (Map.Entry<String, String> header : newHeaders.entrySet()) {
      String name = Objects.requireNonNull(header.getKey(), "name");
      String value = Objects.requireNonNull(header.getValue(), "value");
      bytes += utf8Length(name) + utf8Length(value);
      copy.put(name, value);
    }
    requireBetween("bytes of headers", bytes, 0, MAX_HEADER_BYTES);
    return with(draft -> draft.headers = Collections.unmodifiableMap(copy));
  }

  private static int utf8Length(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  /**
   * Returns this message with another fairness key.
   *
   * @param newKey the tenant or user that the message belongs to, 1 to 256 bytes
   * @return a new message
   */
  public Message withFairnessKey(String newKey) {
    requireKey("fairness key", newKey);
    return with(draft -> draft.fairnessKey = newKey);
  }

  /**
   * Returns this message with another weight, which its fairness key has from this message on.
   *
   * @param newWeight from 1 to {@link Placement#MAX_WEIGHT}
   * @return a new message
   */
  public Message withWeight(int newWeight) {
    requireBetween("weight", newWeight, 1, Placement.MAX_WEIGHT);
    return with(draft -> draft.weight = newWeight);
  }

  /**
   * Returns this message with another priority; messages of higher priority are delivered first.
   *
   * @param newPriority from 0, the default, to {@link Placement#MAX_PRIORITY}
   * @return a new message
   */
  public Message withPriority(int newPriority) {
    requireBetween("priority", newPriority, 0, Placement.MAX_PRIORITY);
    return with(draft -> draft.priority = newPriority);
  }

  /**
   * Returns this message with further throttle keys, of which it takes one token each.
   *
   * @param names names of limits; duplicates count once
   * @return a new message
   */
  public Message withThrottleKeys(String... names) {
    Message result = this;
    for (String name : names) {
      result = result.withThrottleKey(name, 1);
    }
    return result;
  }

  /**
   * Returns this message with one more throttle key.
   *
   * @param name the name of a limit
   * @param tokens the tokens that the message takes of it, at least 1
   * @return a new message
   */
  public Message withThrottleKey(String name, long tokens) {
    requireBetween("tokens of " + name, tokens, 1, Long.MAX_VALUE);
    SortedMap<String, Long> more = new TreeMap<>(throttleKeys);
    more.put(requireKey("throttle key", name), tokens);
    requireBetween("number of throttle keys", more.size(), 0, MAX_THROTTLE_KEYS);
    return with(draft -> draft.throttleKeys = Collections.unmodifiableSortedMap(more));
  }

  /**
   * Returns this message with a time before which it is not delivered.
   *
   * @param newDelay from zero to {@link #MAX_DELAY}
   * @return a new message
   */
  public Message withDelay(Duration newDelay) {
    requireDuration("delay", newDelay, Duration.ZERO, MAX_DELAY);
    return with(draft -> draft.delay = newDelay);
  }

  /**
   * Returns this message with a time after which it becomes a dead letter if it still waits.
   *
   * @param newTime up to {@link QueueConfig#MAX_DURATION}; zero for the time to live of the queue
   * @return a new message
   */
  public Message withTimeToLive(Duration newTime) {
    requireDuration("timeToLive", newTime, Duration.ZERO, QueueConfig.MAX_DURATION);
    return with(draft -> draft.timeToLive = newTime);
  }

  /**
   * Returns this message with a dedupe id: within {@link QueueConfig#dedupeWindow}, a second
   * message with the same id is not stored.
   *
   * @param newId the id, 1 to 256 bytes
   * @return a new message
   */
  public Message withDedupeId(String newId) {
    requireKey("dedupeId", newId);
    return with(draft -> draft.dedupeId = newId);
  }

  /**
   * Returns the payload.
   *
   * @return the bytes; not a copy
   */
  public byte[] payload() {
    return payload;
  }

  /**
   * Returns the headers.
   *
   * @return values by name, unmodifiable
   */
  public Map<String, String> headers() {
    return headers;
  }

  /**
   * Returns the fairness key.
   *
   * @return {@link #DEFAULT_FAIRNESS_KEY} unless set
   */
  public String fairnessKey() {
    return fairnessKey;
  }

  /**
   * Returns the weight of the fairness key.
   *
   * @return 1 unless set
   */
  public int weight() {
    return weight;
  }

  /**
   * Returns the priority.
   *
   * @return 0 unless set
   */
  public int priority() {
    return priority;
  }

  /**
   * Returns the throttle keys and the tokens that the message takes of each.
   *
   * @return tokens by throttle key, unmodifiable
   */
  public SortedMap<String, Long> throttleKeys() {
    return throttleKeys;
  }

  /**
   * Returns the delay.
   *
   * @return zero unless set
   */
  public Duration delay() {
    return delay;
  }

  /**
   * Returns the time to live.
   *
   * @return zero for that of the queue
   */
  public Duration timeToLive() {
    return timeToLive;
  }

  /**
   * Returns the dedupe id.
   *
   * @return empty unless set
   */
  public Optional<String> dedupeId() {
    return Optional.ofNullable(dedupeId);
  }

  private Message with(Consumer<Draft> change) {
    Draft draft = new Draft(payload);
    draft.headers = headers;
    draft.fairnessKey = fairnessKey;
    draft.weight = weight;
    draft.priority = priority;
    draft.throttleKeys = throttleKeys;
    draft.delay = delay;
    draft.timeToLive = timeToLive;
    draft.dedupeId = dedupeId;
    change.accept(draft);
    return draft.message();
  }

  /** The changeable values from which a message is made. */
  private static final class Draft {
    private final byte[] payload;
    private Map<String, String> headers = Map.of();
    private String fairnessKey = DEFAULT_FAIRNESS_KEY;
    private int weight = 1;
    private int priority;
    private SortedMap<String, Long> throttleKeys = Collections.emptySortedMap();
    private Duration delay = Duration.ZERO;
    private Duration timeToLive = Duration.ZERO;
    private @Nullable String dedupeId;

    Draft(byte[] payload) {
      this.payload = payload;
    }

    Message message() {
      return new Message(this);
    }
  }
}
