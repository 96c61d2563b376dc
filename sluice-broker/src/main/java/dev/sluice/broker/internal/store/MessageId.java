package dev.sluice.broker.internal.store;

import java.util.UUID;

/**
 * Ids of messages: a UUID (version 8 of RFC 9562) that says where the message was stored first.
 * Only messages that have moved since are looked up by an index.
 *
 * <pre>
 *   high: queue id 32 | sequence 63..48, 16 | version 4 | sequence 47..36, 12
 *   low:  variant 2   | 0, 26               | sequence 35..0, 36
 * </pre>
 */
public final class MessageId {
  private static final long VERSION = 8L << 12;
  private static final long VARIANT = 2L << 62;
  private static final long VERSION_MASK = 0xfL << 12;
  private static final int LOW_BITS = 36;
  private static final long LOW_MASK = (1L << LOW_BITS) - 1;

  private MessageId() {}

  public static UUID of(int queueId, long sequence) {
    long high =
        (long) queueId << 32
            | (sequence >>> 48) << 16
            | VERSION
            | ((sequence >>> LOW_BITS) & 0xfff);
    return new UUID(high, VARIANT | (sequence & LOW_MASK));
  }

  /** Whether this broker could have made {@code id}. */
  public static boolean isValid(UUID id) {
    return (id.getMostSignificantBits() & VERSION_MASK) == VERSION
        && (id.getLeastSignificantBits() & ~LOW_MASK) == VARIANT;
  }

  public static int queueId(UUID id) {
    return (int) (id.getMostSignificantBits() >>> 32);
  }

  public static long sequence(UUID id) {
    long high = id.getMostSignificantBits();
    return ((high >>> 16) & 0xffff) << 48
        | (high & 0xfff) << LOW_BITS
        | (id.getLeastSignificantBits() & LOW_MASK);
  }
}
