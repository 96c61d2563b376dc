package dev.sluice.client;

/**
 * Why a message is in a dead letter queue.
 *
 * @param queue where it was before
 * @param id its id there, which it keeps; dead letters of earlier servers have another one
 * @param reason SCRIPT, MAX_ATTEMPTS or TIME_TO_LIVE
 * @param attempts how often it had failed
 * @param error what the last failure said
 * @since 0.1
 */
public record DeadLetter(String queue, String id, String reason, int attempts, String error) {
  static DeadLetter of(dev.sluice.proto.v1.DeadLetter wire) {
    return new DeadLetter(
        wire.getQueue(), wire.getId(), wire.getReason(), wire.getAttempts(), wire.getError());
  }
}
