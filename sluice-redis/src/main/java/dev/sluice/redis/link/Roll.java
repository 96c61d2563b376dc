package dev.sluice.redis.link;

import java.util.List;

/**
 * Where the nodes of a fleet are counted.
 *
 * @param node what this node is called there
 * @param keys of the list of nodes, and of a second one whose {@code @version} and {@code @life}
 *     come with each answer, or of none
 * @param expectedNodes so many nodes there are at least
 * @since 0.1
 */
public record Roll(String node, List<String> keys, int expectedNodes) {
  private static final int MOST_KEYS = 2;

  /** Checks the keys. */
  public Roll {
    keys = List.copyOf(keys);
    if (keys.isEmpty() || keys.size() > MOST_KEYS) {
      throw new IllegalArgumentException("keys must be one or two: keys=" + keys);
    }
    if (expectedNodes < 1) {
      throw new IllegalArgumentException(
          "expectedNodes must be positive: expectedNodes=" + expectedNodes);
    }
  }
}
