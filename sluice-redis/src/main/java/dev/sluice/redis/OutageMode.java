package dev.sluice.redis;

/**
 * Decides while Redis does not answer.
 *
 * @since 0.1
 */
public enum OutageMode {
  /** Grants every request; no limit holds until Redis answers again. */
  OPEN,

  /** Denies every request. */
  CLOSED,

  /**
   * Decides by this node's share: the limit divided by the live nodes, starting empty.
   *
   * <p>The limit holds while no node reaches Redis, and while Redis reserves the shares of nodes
   * that it does not hear: for about 11.5 seconds. If p of N nodes stay cut off for longer, the
   * fleet may grant up to {@code limit · (1 + p/N)}.
   */
  LOCAL
}
