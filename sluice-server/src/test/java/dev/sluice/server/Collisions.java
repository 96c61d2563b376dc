package dev.sluice.server;

import java.util.ArrayList;
import java.util.List;

/** Names that all have the same hash. */
final class Collisions {
  private Collisions() {}

  /** So many different ones, made of {@code Aa} and {@code BB}, which have one hash. */
  static List<String> names(int count) {
    int pairs = Math.max(1, 32 - Integer.numberOfLeadingZeros(count - 1));
    List<String> names = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      StringBuilder name = new StringBuilder(2 * pairs);
      for (int bit = 0; bit < pairs; bit++) {
        name.append((i >> bit & 1) == 0 ? "Aa" : "BB");
      }
      names.add(name.toString());
    }
    return names;
  }
}
