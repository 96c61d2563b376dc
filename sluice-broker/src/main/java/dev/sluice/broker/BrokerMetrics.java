package dev.sluice.broker;

/**
 * Told what a broker does, so that somebody can count it; every method does nothing by itself.
 *
 * <p>Called on the broker's own threads: an implementation must be thread-safe, quick, and must not
 * throw.
 *
 * @since 0.1
 */
public interface BrokerMetrics {
  /** Counts nothing. */
  BrokerMetrics NONE = new BrokerMetrics() {};

  /** What a script was asked for. */
  enum Hook {
    /** {@code on_enqueue}. */
    ENQUEUE,
    /** {@code on_failure}. */
    FAILURE
  }

  /** How a script ended. */
  enum HookOutcome {
    /** With an answer. */
    ANSWERED,
    /** With an error, or over its budget. */
    FAILED,
    /** Not asked: it failed too often not long ago. */
    BYPASSED
  }

  /**
   * A message was stored.
   *
   * @param queue the queue
   * @param key its fairness key
   */
  default void enqueued(String queue, String key) {}

  /**
   * A message was stored that names a throttle key without a rate, which lets it pass.
   *
   * @param queue the queue
   */
  default void unknownThrottleKey(String queue) {}

  /**
   * A message was not accepted.
   *
   * @param queue the queue
   * @param why the reason
   */
  default void rejected(String queue, BrokerException.Code why) {}

  /**
   * A message went to a consumer.
   *
   * @param queue the queue
   * @param key its fairness key
   * @param attempts how often it had failed before
   */
  default void delivered(String queue, String key, int attempts) {}

  /**
   * A message was acknowledged.
   *
   * @param queue the queue
   * @param key its fairness key
   * @param heldNanos how long the consumer had it
   */
  default void acked(String queue, String key, long heldNanos) {}

  /**
   * A message failed and will be tried again.
   *
   * @param queue the queue
   * @param key its fairness key
   * @param expired true if its lease ran out, false if the consumer said so
   */
  default void failed(String queue, String key, boolean expired) {}

  /**
   * A message became a dead letter.
   *
   * @param queue the queue it left
   * @param key its fairness key
   * @param reason why
   */
  default void deadLettered(String queue, String key, DeadLetter.Reason reason) {}

  /**
   * A dead letter went back to where it came from.
   *
   * @param queue the queue it went to
   */
  default void redriven(String queue) {}

  /**
   * A script was run, or not.
   *
   * @param queue the queue
   * @param hook which script
   * @param outcome how it ended
   * @param nanos how long it took
   */
  default void hook(String queue, Hook hook, HookOutcome outcome, long nanos) {}

  /**
   * A call to enqueue has waited for a thread that runs scripts.
   *
   * @param queue the queue
   * @param nanos how long
   */
  default void hookWaited(String queue, long nanos) {}

  /**
   * A batch was handed to the operating system.
   *
   * @param changes the number of state changes in the batch
   * @param bytes its size
   * @param nanos how long it took
   */
  default void written(int changes, long bytes, long nanos) {}

  /**
   * Everything written was put on the disk.
   *
   * @param nanos how long it took
   */
  default void synced(long nanos) {}
}
