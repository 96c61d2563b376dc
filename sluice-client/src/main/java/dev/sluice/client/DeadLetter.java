package dev.sluice.client;

/**
 * The reason why a message is in a dead-letter queue.
 *
 * @param queue the queue that the message comes from
 * @param id the message's id in that queue, usually the same
 * @param reason SCRIPT, MAX_ATTEMPTS or TIME_TO_LIVE
 * @param attempts the number of failed deliveries
 * @param error the error of the last failure
 * @since 0.1
 */
public record DeadLetter(String queue, String id, String reason, int attempts, String error) {
  static DeadLetter of(dev.sluice.proto.v1.DeadLetter wire) {
    return new DeadLetter(
        wire.getQueue(), wire.getId(), wire.getReason(), wire.getAttempts(), wire.getError());
  }
}
