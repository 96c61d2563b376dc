package dev.sluice.broker;

import java.util.UUID;

/**
 * The reason why a message is in a dead-letter queue.
 *
 * @param queue the queue that the message comes from
 * @param id the id of the message in that queue, which it keeps; dead letters of earlier versions
 *     have another one
 * @param reason the rule that made it a dead letter
 * @param attempts the failed deliveries
 * @param error the error of the last failure, or why {@code on_failure} gave up
 * @since 0.1
 */
public record DeadLetter(String queue, UUID id, Reason reason, int attempts, String error) {

  /** The rule that made a message a dead letter. */
  public enum Reason {
    /** {@code on_failure} decided so. */
    SCRIPT,

    /** The message failed as often as its queue allows. */
    MAX_ATTEMPTS,

    /** The message waited longer than its time to live. */
    TIME_TO_LIVE
  }
}
