package dev.sluice.governor.redis.internal.store;

import java.security.SecureRandom;
import java.util.HexFormat;

/** Ids that cannot be guessed. */
final class RandomIds {
  private static final SecureRandom RANDOM = new SecureRandom();

  private RandomIds() {}

  /** Returns an id of a ticket, and of its reservation. */
  static String newId() {
    return hex(16);
  }

  /** Returns the name of a node. */
  static String newNode() {
    return hex(8);
  }

  private static String hex(int bytes) {
    byte[] id = new byte[bytes];
    RANDOM.nextBytes(id);
    return HexFormat.of().formatHex(id);
  }
}
