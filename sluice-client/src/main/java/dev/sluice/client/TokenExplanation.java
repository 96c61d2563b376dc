package dev.sluice.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What would become of a request for tokens if it were made now.
 *
 * @param model which model would decide; of a route, the one that would be chosen
 * @param priority its class
 * @param tokens what would be reserved
 * @param verdict what would become of it
 * @param binding what eta is by, or why it is empty
 * @param position where it would be in line, from 1 over all classes; 0 if not in line
 * @param retryAfter what it would have to wait if it were alone; empty if unknown, or if it would
 *     be refused
 * @param eta until its turn, if nothing arrives, leaves or is settled; empty if unknown, or if it
 *     would be refused
 * @param message in words
 * @param parts each dimension that counts for this request, the binding one among them
 * @since 0.1
 */
public record TokenExplanation(
    String model,
    String priority,
    long tokens,
    TokenExplanation.Outcome verdict,
    BudgetDimension binding,
    int position,
    Optional<Duration> retryAfter,
    Optional<Duration> eta,
    String message,
    List<TokenExplanation.DimensionStatus> parts) {
  /** Makes the list immutable. */
  public TokenExplanation {
    parts = List.copyOf(parts);
  }

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
   * @param available what there is now; less than 0 after overuse
   * @param needed what the request takes
   * @param retryAfter until it is there if nobody else takes any; empty if time alone does not help
   */
  public record DimensionStatus(
      BudgetDimension dimension,
      long capacity,
      long available,
      long needed,
      Optional<Duration> retryAfter) {}
}
