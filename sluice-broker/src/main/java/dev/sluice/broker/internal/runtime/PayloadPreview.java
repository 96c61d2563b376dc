package dev.sluice.broker.internal.runtime;

import java.util.Arrays;

/** Shows the beginning of a payload, of which text is to stay text. */
final class PayloadPreview {
  /** The bits of a byte of UTF-8 that say whether it begins a character. */
  private static final int PLACE = 0xc0;

  private static final int INSIDE = 0x80;

  /** The longest character has so many bytes behind its first. */
  private static final int MOST_INSIDE = 3;

  private PayloadPreview() {}

  static byte[] cut(byte[] payload, int max) {
    return payload.length <= max ? payload : Arrays.copyOf(payload, end(payload, max));
  }

  /** Before the character that {@code max} would cut. */
  private static int end(byte[] payload, int max) {
    for (int at = max; at >= 0 && at >= max - MOST_INSIDE; at--) {
      if ((payload[at] & PLACE) != INSIDE) {
        return at;
      }
    }
    return max;
  }
}
