package dev.sluice.governor;

import java.util.List;
import java.util.OptionalLong;

/**
 * What would become of a request if it were made now. Nothing is taken, and nobody is put in line.
 *
 * @param model which model would decide; of a route, the one that would be chosen
 * @param priority its class
 * @param tokens what would be reserved
 * @param verdict granted at once, put in line, or refused
 * @param binding what etaMs is by, or why it is empty; {@link BudgetDimension#NONE} if nothing is
 *     short
 * @param queuePosition where it would be in line, from 1 over all classes; 0 if not in line
 * @param waitMs what it would have to wait if it were alone; empty if unknown, or if it would be
 *     refused
 * @param etaMs until its turn, if nothing arrives, leaves or is settled; empty if unknown, or if it
 *     would be refused
 * @param message in words
 * @param dimensions each that counts for this request, the binding one among them
 * @since 0.1
 */
public record TokenExplanation(
    String model,
    String priority,
    long tokens,
    TokenExplanation.Outcome verdict,
    BudgetDimension binding,
    int queuePosition,
    OptionalLong waitMs,
    OptionalLong etaMs,
    String message,
    List<TokenExplanation.DimensionStatus> dimensions) {
  /** What would become of it. */
  public enum Outcome {
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
   * @param waitMs until it is there if nobody else takes any; empty if time alone does not help
   */
  public record DimensionStatus(
      BudgetDimension dimension, long capacity, long available, long needed, OptionalLong waitMs) {}

  /** Keeps the parts. */
  public TokenExplanation {
    dimensions = List.copyOf(dimensions);
  }
}
