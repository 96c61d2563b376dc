package dev.sluice.broker;

/**
 * Receives events of a broker, for metrics. Every method does nothing unless overridden.
 *
 * <p>Called on broker threads, in order: an implementation must be thread-safe, must not block and
 * must not throw.
 *
 * @since 0.1
 */
public interface BrokerMetrics {
  /** Ignores all events. */
  BrokerMetrics NONE = new BrokerMetrics() {};

  /** The kinds of hooks. */
  enum Hook {
    /** {@code on_enqueue}. */
    ENQUEUE,
    /** {@code on_failure}. */
    FAILURE
  }

  /** The outcomes of a hook. */
  enum HookOutcome {
    /** The hook returned a result. */
    ANSWERED,
    /** The hook failed, or exceeded its budget. */
    FAILED,
    /** The hook was not run, because it failed too often lately. */
    BYPASSED
  }

  /**
   * Called when a message was stored.
   *
   * @param queue the queue
   * @param key the fairness key of the message
   */
  default void enqueued(String queue, String key) {}

  /**
   * Called when a message was stored that names a throttle key without a limit, which it passes.
   *
   * @param queue the queue
   */
  default void unknownThrottleKey(String queue) {}

  /**
   * Called when a message was refused.
   *
   * @param queue the queue
   * @param why the reason
   */
  default void rejected(String queue, BrokerException.Code why) {}

  /**
   * Called when a message was delivered to a consumer.
   *
   * @param queue the queue
   * @param key the fairness key of the message
   * @param attempts its failed deliveries so far
   */
  default void delivered(String queue, String key, int attempts) {}

  /**
   * Called when a message was acknowledged.
   *
   * @param queue the queue
   * @param key the fairness key of the message
   * @param heldNanos the time since its delivery
   */
  default void acked(String queue, String key, long heldNanos) {}

  /**
   * Called when a delivery failed.
   *
   * @param queue the queue
   * @param key the fairness key of the message
   * @param expired true if its lease expired, false if it was nacked
   */
  default void failed(String queue, String key, boolean expired) {}

  /**
   * Called when a message became a dead letter.
   *
   * @param queue the queue it left
   * @param key the fairness key of the message
   * @param reason why
   */
  default void deadLettered(String queue, String key, DeadLetter.Reason reason) {}

  /**
   * Called when a dead letter was moved back to its queue.
   *
   * @param queue the queue it went to
   */
  default void redriven(String queue) {}

  /**
   * Called when a hook was run, or bypassed.
   *
   * @param queue the queue
   * @param hook the hook
   * @param outcome the outcome
   * @param nanos the duration in nanoseconds
   */
  default void hook(String queue, Hook hook, HookOutcome outcome, long nanos) {}

  /**
   * Called when a call to enqueue has waited for a hook thread.
   *
   * @param queue the queue
   * @param nanos the duration in nanoseconds
   */
  default void hookWaited(String queue, long nanos) {}

  /**
   * Called when a batch was written, to the operating system.
   *
   * @param changes the number of state changes in the batch
   * @param bytes its size
   * @param nanos the duration in nanoseconds
   */
  default void written(int changes, long bytes, long nanos) {}

  /**
   * Called when everything written was synced to the disk.
   *
   * @param nanos the duration in nanoseconds
   */
  default void synced(long nanos) {}
}
