package dev.sluice.redis;

/**
 * What a limiter does while Redis does not answer.
 *
 * @since 0.1
 */
public enum OutageMode {
  /** Grants everything: the limit does not hold until Redis is back. */
  OPEN,

  /** Grants nothing. */
  CLOSED,

  /**
   * Each node goes on with its share, the limit divided by the nodes last seen alive, from empty.
   *
   * <p>While no node reaches Redis the limit holds. While p of N nodes are cut off and the others
   * are not, the fleet may grant {@code limit · (1 + p/N)}. What was granted meanwhile is charged
   * once, on return.
   */
  LOCAL
}
