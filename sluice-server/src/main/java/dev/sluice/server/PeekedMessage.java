package dev.sluice.server;

import dev.sluice.broker.StoredMessage;
import java.util.Arrays;

/**
 * A message that somebody looks at.
 *
 * @param stored the message
 * @param payload its content, or as much of it as was asked for
 */
@SuppressWarnings("ArrayRecordComponent") // shown, not compared
record PeekedMessage(StoredMessage stored, byte[] payload) {
  /** The bits of a byte of UTF-8 that say whether it begins a character. */
  private static final int PLACE = 0xc0;

  private static final int INSIDE = 0x80;

  /** The longest character has so many bytes behind its first. */
  private static final int MOST_INSIDE = 3;

  static PeekedMessage of(StoredMessage stored, int maxPayloadBytes) {
    byte[] all = stored.payload();
    return new PeekedMessage(
        stored,
        all.length <= maxPayloadBytes ? all : Arrays.copyOf(all, end(all, maxPayloadBytes)));
  }

  /** Before the character that {@code most} would cut, for text is to stay text. */
  private static int end(byte[] payload, int most) {
    for (int at = most; at > 0 && at >= most - MOST_INSIDE; at--) {
      if ((payload[at] & PLACE) != INSIDE) {
        return at;
      }
    }
    return most;
  }

  int size() {
    return stored.payload().length;
  }

  boolean isCut() {
    return payload.length < size();
  }
}
