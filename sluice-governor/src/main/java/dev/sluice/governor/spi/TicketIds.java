package dev.sluice.governor.spi;

import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * Creates ids of tickets and reservations that cannot be guessed and contain a tag of their model,
 * which is the same after a restart. Not thread-safe.
 */
public final class TicketIds {
  private static final int TAG_BYTES = 5;
  private static final int RANDOM_BYTES = 16;
  private static final int BUFFER_BYTES = 4_096;
  private static final HexFormat HEX = HexFormat.of();

  private final SecureRandom random = new SecureRandom();
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private final String tag;
  private int used = BUFFER_BYTES;

  public TicketIds(String model) {
    this.tag = tagOf(model);
  }

  /** Returns the tag of a model. */
  public static String tagOf(String model) {
    return Fingerprint.of(model).substring(0, 2 * TAG_BYTES);
  }

  public String next(char kind) {
    if (used == BUFFER_BYTES) {
      random.nextBytes(buffer);
      used = 0;
    }
    String name = kind + tag + '-' + HEX.formatHex(buffer, used, used + RANDOM_BYTES);
    used += RANDOM_BYTES;
    return name;
  }

  /** Returns the reservation of a ticket: their ids differ in the first letter only. */
  public String reservationOf(String ticket) {
    return 'r' + ticket.substring(1);
  }

  /** Returns the tag in an id; empty if it has none. */
  public static String tagIn(String id) {
    return id.length() > 2 * TAG_BYTES + 1 ? id.substring(1, 2 * TAG_BYTES + 1) : "";
  }
}
