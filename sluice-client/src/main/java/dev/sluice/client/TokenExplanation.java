package dev.sluice.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The predicted decision of a token request, with every dimension.
 *
 * @param model the model that would decide; of a route, the one that would be chosen
 * @param priorityClass the priority class of the request
 * @param tokens tokens that would be reserved
 * @param outcome the predicted decision
 * @param binding the dimension that determines {@code eta}, or makes it unknown
 * @param queuePosition place in the waiting list, from 1, over all classes; 0 unless {@code QUEUED}
 * @param retryAfter the shortest wait if no other request were waiting; empty if unknown, denied or
 *     impossible
 * @param eta estimated time until the grant, if no request arrives, leaves or is settled; empty if
 *     unknown, denied or impossible
 * @param message the prediction in words
 * @param dimensions each dimension that applies to this request, including the binding one
 * @since 0.1
 */
public record TokenExplanation(
    String model,
    String priorityClass,
    long tokens,
    TokenExplanation.Outcome outcome,
    BudgetDimension binding,
    int queuePosition,
    Optional<Duration> retryAfter,
    Optional<Duration> eta,
    String message,
    List<TokenExplanation.DimensionStatus> dimensions) {
  /** Makes the list immutable. */
  public TokenExplanation {
    dimensions = List.copyOf(dimensions);
  }

  /** Predicted decisions. */
  public enum Outcome {
    /** The request would be granted now. */
    GRANTED,
    /** The request would be in the waiting list. */
    QUEUED,
    /** The request would be denied. */
    DENIED,
    /** The model can never grant so many tokens. */
    IMPOSSIBLE,
    /** An outcome that this version of the client does not know. */
    OTHER
  }

  /**
   * The state of one dimension for a request.
   *
   * @param dimension the dimension
   * @param capacity the most it can hold
   * @param available what is available now; negative after overuse
   * @param needed what the request takes
   * @param retryAfter time until it is available if no other request takes any; empty if time alone
   *     does not help
   */
  public record DimensionStatus(
      BudgetDimension dimension,
      long capacity,
      long available,
      long needed,
      Optional<Duration> retryAfter) {}
}
