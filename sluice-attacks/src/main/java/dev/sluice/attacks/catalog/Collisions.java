package dev.sluice.attacks.catalog;

import java.util.UUID;

/** Distinct values with one Java hash code. */
final class Collisions {
  private static final int BLOCKS = 16;

  private Collisions() {}

  /** One of 65,536 texts of 32 characters; {@code "Aa"} and {@code "BB"} have one hash code. */
  static String text(int number) {
    StringBuilder text = new StringBuilder(2 * BLOCKS);
    for (int bit = 0; bit < BLOCKS; bit++) {
      text.append(((number >> bit) & 1) == 0 ? "Aa" : "BB");
    }
    return text.toString();
  }

  /** Both halves are equal, so that they cancel each other out. */
  static String id(int number) {
    return new UUID(number, number).toString();
  }
}
