package dev.sluice.broker;

import static dev.sluice.broker.QueueNames.requireBetween;
import static dev.sluice.broker.QueueNames.requireDuration;
import static dev.sluice.broker.QueueNames.requireKey;

import dev.sluice.Placement;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a producer sends.
 *
 * <p>An immutable value: {@code Message.of(bytes).withKey("tenant-a").withThrottles("provider:x")}.
 * Where a queue has a script, fairness key, weight and throttle keys are what the script says.
 *
 * @since 0.1
 */
public final class Message {
  /** The fairness key of a message that names none. */
  public static final String DEFAULT_FAIRNESS_KEY = "default";

  /** The most throttle keys. */
  public static final int MAX_THROTTLE_KEYS = 16;

  /** The most headers. */
  public static final int MAX_HEADERS = 100;

  /** The most bytes of all headers together. */
  public static final int MAX_HEADER_BYTES = 64 * 1024;

  /** The longest delay. */
  public static final Duration MAX_DELAY = QueueConfig.MAX_DURATION;

  public final byte[] payload;
  public final Map<String, String> headers;
  public final String key;
  public final int weight;
  public final int priority;
  public final SortedMap<String, Long> throttles;
  public final Duration delay;
  public final Duration timeToLive;
  public final @Nullable String dedupeId;

  private Message(Draft draft) {
    this.payload = draft.payload;
    this.headers = draft.headers;
    this.key = draft.key;
    this.weight = draft.weight;
    this.priority = draft.priority;
    this.throttles = draft.throttles;
    this.delay = draft.delay;
    this.timeToLive = draft.timeToLive;
    this.dedupeId = draft.dedupeId;
  }

  /**
   * A message without headers, of fairness key {@link #DEFAULT_FAIRNESS_KEY} and weight 1.
   *
   * @param payload its content; not copied, and not to be changed afterwards
   * @return the message
   */
  public static Message of(byte[] payload) {
    return new Draft(Objects.requireNonNull(payload, "payload")).message();
  }

  /**
   * A message with text.
   *
   * @param payload its content, which is sent in UTF-8
   * @return the message
   */
  public static Message of(String payload) {
    return of(payload.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * The same, with one more header.
   *
   * @param name the header
   * @param value its value
   * @return the message
   */
  public Message withHeader(String name, String value) {
    Map<String, String> more = new TreeMap<>(headers);
    more.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(value, "value"));
    return withHeaders(more);
  }

  /**
   * The same, with these headers instead of those it has.
   *
   * @param newHeaders the headers, at most {@link #MAX_HEADERS}
   * @return the message
   */
  public Message withHeaders(Map<String, String> newHeaders) {
    requireBetween("number of headers", newHeaders.size(), 0, MAX_HEADERS);
    // No Map.copyOf: it takes quadratic time for names whose hashes collide.
    Map<String, String> copy = new LinkedHashMap<>();
    long bytes = 0;
    for (Map.Entry<String, String> header : newHeaders.entrySet()) {
      String name = Objects.requireNonNull(header.getKey(), "name");
      String value = Objects.requireNonNull(header.getValue(), "value");
      bytes += utf8(name) + utf8(value);
      copy.put(name, value);
    }
    requireBetween("bytes of headers", bytes, 0, MAX_HEADER_BYTES);
    return with(draft -> draft.headers = Collections.unmodifiableMap(copy));
  }

  private static int utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  /**
   * The same, of another fairness key: between keys turns are fair.
   *
   * @param newKey the key, 1 to 256 bytes
   * @return the message
   */
  public Message withFairnessKey(String newKey) {
    requireKey("key", newKey);
    return with(draft -> draft.key = newKey);
  }

  /**
   * The same, with a weight that its fairness key has from this message on.
   *
   * @param newWeight from 1 to {@link Placement#MAX_WEIGHT}
   * @return the message
   */
  public Message withWeight(int newWeight) {
    requireBetween("weight", newWeight, 1, Placement.MAX_WEIGHT);
    return with(draft -> draft.weight = newWeight);
  }

  /**
   * The same, with a priority: higher ones go first.
   *
   * @param newPriority from 0, the default, to {@link Placement#MAX_PRIORITY}
   * @return the message
   */
  public Message withPriority(int newPriority) {
    requireBetween("priority", newPriority, 0, Placement.MAX_PRIORITY);
    return with(draft -> draft.priority = newPriority);
  }

  /**
   * The same, obeying these throttle keys too, with one token at each.
   *
   * @param names throttle keys; duplicates count once
   * @return the message
   */
  public Message withThrottleKeys(String... names) {
    Message result = this;
    for (String name : names) {
      result = result.withThrottleKey(name, 1);
    }
    return result;
  }

  /**
   * The same, obeying one more throttle key.
   *
   * @param name the throttle key
   * @param tokens what the message takes there, at least 1
   * @return the message
   */
  public Message withThrottleKey(String name, long tokens) {
    requireBetween("tokens of " + name, tokens, 1, Long.MAX_VALUE);
    SortedMap<String, Long> more = new TreeMap<>(throttles);
    more.put(requireKey("throttle key", name), tokens);
    requireBetween("number of throttle keys", more.size(), 0, MAX_THROTTLE_KEYS);
    return with(draft -> draft.throttles = Collections.unmodifiableSortedMap(more));
  }

  /**
   * The same, not to be delivered before some time has passed.
   *
   * @param newDelay up to {@link #MAX_DELAY}
   * @return the message
   */
  public Message withDelay(Duration newDelay) {
    requireDuration("delay", newDelay, Duration.ZERO, MAX_DELAY);
    return with(draft -> draft.delay = newDelay);
  }

  /**
   * The same, to become a dead letter if it waits longer than that.
   *
   * @param newTime up to {@link QueueConfig#MAX_DURATION}; zero for what its queue says
   * @return the message
   */
  public Message withTimeToLive(Duration newTime) {
    requireDuration("timeToLive", newTime, Duration.ZERO, QueueConfig.MAX_DURATION);
    return with(draft -> draft.timeToLive = newTime);
  }

  /**
   * The same, with an id by which a queue that remembers ids knows it from a second one.
   *
   * @param newId the id, 1 to 256 bytes
   * @return the message
   */
  public Message withDedupeId(String newId) {
    requireKey("dedupeId", newId);
    return with(draft -> draft.dedupeId = newId);
  }

  /**
   * Returns the throttle keys that the producer names.
   *
   * @return in order, not to be changed
   */
  public Set<String> throttleKeys() {
    return throttles.keySet();
  }

  private Message with(java.util.function.Consumer<Draft> change) {
    Draft draft = new Draft(payload);
    draft.headers = headers;
    draft.key = key;
    draft.weight = weight;
    draft.priority = priority;
    draft.throttles = throttles;
    draft.delay = delay;
    draft.timeToLive = timeToLive;
    draft.dedupeId = dedupeId;
    change.accept(draft);
    return draft.message();
  }

  /** A message while it is made. */
  private static final class Draft {
    private final byte[] payload;
    private Map<String, String> headers = Map.of();
    private String key = DEFAULT_FAIRNESS_KEY;
    private int weight = 1;
    private int priority;
    private SortedMap<String, Long> throttles = Collections.emptySortedMap();
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
