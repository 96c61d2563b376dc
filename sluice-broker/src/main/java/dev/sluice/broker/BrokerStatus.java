package dev.sluice.broker;

/**
 * The status of a broker, as {@link BrokerView#status} returns it.
 *
 * @since 0.1
 */
public enum BrokerStatus {
  /** The broker takes calls. */
  RUNNING,

  /**
   * The disk was full when something had to be written. Every call fails with {@link
   * BrokerException.Code#WAITING_FOR_SPACE}; once there is space the broker reopens its directory
   * by itself and is {@link #RUNNING}.
   */
  WAITING_FOR_SPACE,

  /**
   * The store failed: the disk reported an error, or files are damaged. Every call fails with
   * {@link BrokerException.Code#STOPPED}, until the process is started again.
   */
  STOPPED,

  /** The broker was closed. */
  CLOSED
}
