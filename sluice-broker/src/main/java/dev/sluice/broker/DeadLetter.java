package dev.sluice.broker;

import java.util.UUID;

/**
 * Why a message is in a queue of dead letters.
 *
 * @param queue the queue it comes from
 * @param id its id there, which it keeps; dead letters of earlier versions have another one
 * @param reason what happened
 * @param attempts how often it was tried
 * @param error what the last consumer said, or why it was given up
 * @since 0.1
 */
public record DeadLetter(String queue, UUID id, Reason reason, int attempts, String error) {
  /** What the queue of dead letters of {@code q} is called: {@code q.dlq}. */
  public static final String SUFFIX = ".dlq";

  /** What happened to a dead letter. */
  public enum Reason {
    /** The failure script gave it up. */
    SCRIPT,

    /** It failed as often as its queue allows. */
    MAX_ATTEMPTS,

    /** It waited longer than its time to live. */
    TIME_TO_LIVE
  }

  /** The queue whose dead letters {@code name} holds; {@code name} itself if it holds none. */
  public static String sourceOf(String name) {
    return isDeadLetterQueue(name) ? name.substring(0, name.length() - SUFFIX.length()) : name;
  }

  /** The queue to which messages of {@code name} move, as dead letters or by a redrive. */
  static String counterpartOf(String name) {
    return isDeadLetterQueue(name) ? sourceOf(name) : queueOf(name);
  }

  public static boolean isDeadLetterQueue(String name) {
    return name.endsWith(SUFFIX);
  }

  public static String queueOf(String source) {
    return source + SUFFIX;
  }
}
