package dev.sluice.server.transport;

import dev.sluice.broker.Message;
import java.util.Map;

/**
 * How many entries each list and map of a request may have, by the name of its field, which is the
 * same in {@code sluice.v1}, in {@code fila.v1} and over HTTP. This is the only place that has
 * these numbers. {@code BoundedJsonParser} and {@code ProtobufSizeChecker} refuse a list or map
 * beyond its bound at the first entry too many, before anything is made of it.
 */
public final class RequestSizeLimits {
  static final int MAX_MESSAGES = 10_000;
  public static final int MAX_SETTLEMENTS = 10_000;
  static final int MAX_DECISIONS = 1_024;
  static final int MAX_COSTS = 64;
  static final int MAX_PERMISSIONS = 64;

  /** The fields that an update may name, which is more than a configuration has. */
  static final int MAX_PATHS = 64;

  /** The headers of a message, or of a provider's answer. */
  public static final int MAX_HEADERS = Message.MAX_HEADERS;

  /**
   * The protobuf fields, or JSON tokens, of a whole request: each becomes an object of up to 100
   * bytes, however few bytes it takes on the wire.
   */
  public static final int MAX_PARTS = 250_000;

  /** The heap that one of these parts takes on average, beside its bytes on the wire. */
  public static final int PART_BYTES = 64;

  /** The heap of a settlement until it is answered: its call, its future, its refusal. */
  public static final int SETTLEMENT_BYTES = 512;

  /** The bytes of a request that the reserve of its call and connection covers. */
  public static final int FREE_BYTES = 4 << 10;

  /** Parts are charged to the memory for requests in steps of this many; fewer are free. */
  public static final int PARTS_AT_ONCE = 1_000;

  public static final Map<String, Integer> BY_FIELD =
      Map.of(
          "messages", MAX_MESSAGES,
          "settlements", MAX_SETTLEMENTS,
          "requests", MAX_DECISIONS,
          "costs", MAX_COSTS,
          "permissions", MAX_PERMISSIONS,
          "headers", MAX_HEADERS,
          "throttle_keys", Message.MAX_THROTTLE_KEYS,
          "paths", MAX_PATHS);

  private RequestSizeLimits() {}

  /** Returns the most entries of a list or map. */
  public static int of(String field) {
    Integer most = BY_FIELD.get(field);
    if (most == null) {
      throw new IllegalStateException("the field has no bound: " + field);
    }
    return most;
  }

  /** Returns the error message for a list or map with too many entries. */
  public static String rule(String field) {
    return "%s must have at most %d entries, but has %d or more"
        .formatted(field, of(field), of(field) + 1);
  }
}
