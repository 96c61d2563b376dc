package dev.sluice.governor;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Predicts the decision on a request, with every dimension that counts.
 *
 * @param model the model that would decide; of a route, the one that would be chosen
 * @param priorityClass the priority class of the request
 * @param tokens the tokens that would be reserved
 * @param outcome the kind of decision
 * @param binding the dimension that determines the eta, or why it is empty; {@link
 *     BudgetDimension#NONE} for a grant
 * @param queuePosition the place in the waiting list, from 1 over all classes; 0 if it would not be
 *     queued
 * @param retryAfter the time that the request alone would have to wait; empty if unknown, or if it
 *     would be denied
 * @param eta the time until its grant, if no request arrives, leaves or is settled; empty if
 *     unknown, or if it would be denied
 * @param message a description
 * @param dimensions the state of each dimension that counts for this request, the binding one among
 *     them
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
  /** Kinds of decisions, the best first. */
  public enum Outcome {
    /** The request would be granted. */
    GRANTED,
    /** The request would wait. */
    QUEUED,
    /** The request would be denied. */
    DENIED,
    /** The request could never be granted. */
    IMPOSSIBLE
  }

  /**
   * Describes one dimension for a request.
   *
   * @param dimension the dimension
   * @param capacity the most that there can be of it
   * @param available the present amount; negative after overuse
   * @param needed the amount that the request takes
   * @param retryAfter the time until the amount is available if no other request takes any; empty
   *     if time alone does not help
   */
  public record DimensionStatus(
      BudgetDimension dimension,
      long capacity,
      long available,
      long needed,
      Optional<Duration> retryAfter) {}

  /** Copies the list. */
  public TokenExplanation {
    dimensions = List.copyOf(dimensions);
  }
}
