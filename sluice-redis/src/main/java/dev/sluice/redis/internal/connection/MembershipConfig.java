package dev.sluice.redis.internal.connection;

import java.time.Duration;
import java.util.List;

/**
 * How a node takes part in a fleet.
 *
 * @param node the name of this node in Redis
 * @param keys the key of the members, and optionally a hash whose {@code @version} and {@code
 *     @life} come with each heartbeat
 * @param expectedNodes the least number of nodes among which limits are divided
 * @param schema the layout of what is stored
 * @param timing how presence is judged
 * @since 0.1
 */
public record MembershipConfig(
    String node, List<String> keys, int expectedNodes, Schema schema, Timing timing) {
  /** A limit has so many parts: one divided by up to 16 members is exact. */
  public static final int PARTS = 720_720;

  private static final int MOST_KEYS = 2;

  /** Checks the keys. */
  public MembershipConfig {
    keys = List.copyOf(keys);
    if (keys.isEmpty() || keys.size() > MOST_KEYS) {
      throw new IllegalArgumentException("keys must be one or two, but were " + keys);
    }
    ConnectionConfig.requireNodes(expectedNodes);
  }

  /**
   * The layout of what a version of Sluice stores in Redis. Data of an earlier one is not read: the
   * limits start empty. A node that finds a later one does not start, and decides nothing if it has
   * started.
   *
   * @param key where the number of the layout is stored, in the slot of the members
   * @param number the layout of this version
   * @param earlier keys of which earlier layouts have left some, in the same slot
   * @since 0.1
   */
  public record Schema(String key, int number, List<String> earlier) {
    /** Copies the list. */
    public Schema {
      earlier = List.copyOf(earlier);
    }
  }

  /**
   * The times by which Redis and its members judge each other.
   *
   * @param heartbeat how often a member is heard
   * @param suspicion how long Redis may be silent before the node counts it as lost; at least twice
   *     the time-out of calls
   * @param presence how long after its last heartbeat a member grants nothing by itself
   * @param membership how much longer the share of a silent member stays reserved
   * @since 0.1
   */
  public record Timing(
      Duration heartbeat, Duration suspicion, Duration presence, Duration membership) {
    /** The times of a fleet; all its members need the same. */
    public static final Timing DEFAULTS =
        new Timing(
            Duration.ofMillis(250),
            Duration.ofSeconds(1),
            Duration.ofMillis(1_500),
            Duration.ofSeconds(10));
  }
}
