package dev.sluice.broker;

/**
 * When the result of an operation on a queue counts as stored, so that its future completes.
 *
 * @since 0.1
 */
public enum Durability {
  /** After an fsync: it survives a power loss. The default. */
  ALWAYS,

  /**
   * Once it is handed to the operating system, with an fsync at most {@link
   * BrokerConfig#syncInterval} later: it survives the end of the process, and all but the last
   * moments survive a power loss.
   */
  INTERVAL,

  /** Once it is handed to the operating system: it survives the end of the process. */
  OS
}
