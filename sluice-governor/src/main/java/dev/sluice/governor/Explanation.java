package dev.sluice.governor;

import java.util.List;

/**
 * What would become of a request if it were made now. Nothing is taken, and nobody is put in line.
 *
 * @param model which model would decide; of a route, the one that would be chosen
 * @param priority its class
 * @param tokens what would be reserved
 * @param verdict granted at once, put in line, or refused
 * @param binding what is short, or holds it up; {@link Dimension#NONE} if nothing does
 * @param queuePosition where it would be in line, from 1 over all classes; 0 if not in line
 * @param waitMs what it would have to wait if it were alone
 * @param etaMs until its turn, if nothing changes
 * @param message in words
 * @param dimensions each that counts for this request, the binding one among them
 * @since 0.1
 */
public record Explanation(
    String model,
    String priority,
    long tokens,
    Verdict verdict,
    Dimension binding,
    int queuePosition,
    long waitMs,
    long etaMs,
    String message,
    List<Part> dimensions) {
  /** What would become of it. */
  public enum Verdict {
    /** It would go now. */
    GRANTED,
    /** It would be in line. */
    QUEUED,
    /** It would be refused. */
    REFUSED
  }

  /**
   * How one dimension stands for a request.
   *
   * @param dimension which
   * @param capacity the most there is of it
   * @param available what there is now; less than zero after overuse
   * @param needed what the request takes
   * @param waitMs until it is there if nobody else takes any; -1 if time alone does not help
   */
  public record Part(
      Dimension dimension, long capacity, long available, long needed, long waitMs) {}

  /** Keeps the parts. */
  public Explanation {
    dimensions = List.copyOf(dimensions);
  }
}
