package dev.sluice.broker;

import dev.sluice.broker.internal.util.Checks;
import java.util.Objects;

/**
 * The rules for names of queues, and the names of dead-letter queues: the dead letters of {@code q}
 * are in {@code q.dlq}.
 *
 * @since 0.1
 */
public final class QueueNames {
  /** Ends the name of every dead-letter queue. */
  public static final String DEAD_LETTER_SUFFIX = ".dlq";

  /** The longest name of a queue in characters, without {@link #DEAD_LETTER_SUFFIX}. */
  public static final int MAX_LENGTH = 128;

  private QueueNames() {}

  /**
   * Returns {@code name} if a queue can have it.
   *
   * @param name the name of a queue or of a dead-letter queue
   * @return the name
   * @throws IllegalArgumentException unless it is 1 to 128 letters, digits and {@code . _ - : /},
   *     and neither {@code .} nor {@code ..}
   */
  public static String requireValid(String name) {
    Objects.requireNonNull(name, "queue name");
    String base = sourceOf(name);
    if (base.isEmpty() || base.length() > MAX_LENGTH || !isPlain(name)) {
      throw new IllegalArgumentException(
          "queue name must be 1 to "
              + MAX_LENGTH
              + " letters, digits or . _ - : / characters, but was \""
              + name
              + "\"");
    }
    Checks.requireInPaths("queue name", base);
    return name;
  }

  private static boolean isPlain(String name) {
    return name.chars()
        .allMatch(c -> (c < 128 && Character.isLetterOrDigit(c)) || "._-:/".indexOf(c) >= 0);
  }

  /**
   * Returns the name of the dead-letter queue of {@code queue}, which need not exist.
   *
   * @param queue the name of a queue
   * @return the name with {@link #DEAD_LETTER_SUFFIX}
   */
  public static String deadLetterQueueOf(String queue) {
    return queue + DEAD_LETTER_SUFFIX;
  }

  /**
   * Returns the name of the queue whose dead letters {@code deadLetterQueue} holds.
   *
   * @param deadLetterQueue the name of a queue
   * @return the name without {@link #DEAD_LETTER_SUFFIX}; the name itself if it does not end so
   */
  public static String sourceOf(String deadLetterQueue) {
    return isDeadLetterQueue(deadLetterQueue)
        ? deadLetterQueue.substring(0, deadLetterQueue.length() - DEAD_LETTER_SUFFIX.length())
        : deadLetterQueue;
  }

  /**
   * Returns whether {@code name} is the name of a dead-letter queue.
   *
   * @param name the name of a queue
   * @return true if it ends in {@link #DEAD_LETTER_SUFFIX}
   */
  public static boolean isDeadLetterQueue(String name) {
    return name.endsWith(DEAD_LETTER_SUFFIX);
  }
}
