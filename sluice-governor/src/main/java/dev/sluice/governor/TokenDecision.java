package dev.sluice.governor;

import java.time.Duration;
import java.util.Optional;

/**
 * The decision on a request for tokens.
 *
 * @since 0.1
 */
public sealed interface TokenDecision {
  /**
   * Returns the model of the request; of a route, the one that was chosen.
   *
   * @return its name
   */
  String model();

  /**
   * Returns the priority class of the request.
   *
   * @return its name
   */
  String priorityClass();

  /**
   * Returns the tokens that were granted, or else requested.
   *
   * @return a positive number
   */
  long tokens();

  /**
   * Returns the tokens that the model has left.
   *
   * @return whole tokens; negative after overuse
   */
  long remaining();

  /**
   * Returns whether the tokens are reserved.
   *
   * @return true for {@link Granted} only
   */
  default boolean isGranted() {
    return this instanceof Granted;
  }

  /**
   * Grants the request: the tokens are reserved until they are settled.
   *
   * @param tokens the tokens that are reserved; fewer than requested with {@link Allocation#SCALE}
   *     or an expectation
   * @param requestedTokens the tokens of the request
   * @param reservation to be settled with the tokens that were used
   */
  record Granted(
      String model,
      String priorityClass,
      long tokens,
      long remaining,
      long requestedTokens,
      String reservation)
      implements TokenDecision {}

  /**
   * Queues the request: it has a ticket in the waiting list.
   *
   * @param retryAfter the time that this request alone would have to wait; empty if unknown
   * @param queuePosition from 1, over all priority classes
   * @param eta the time until its grant, if no request arrives, leaves or is settled; empty if
   *     unknown, as for a slot of the model's concurrency, which is free when another call is
   *     settled
   * @param binding the dimension that determines the eta, or why it is empty
   * @param ticket identifies the request in the waiting list
   */
  record Queued(
      String model,
      String priorityClass,
      long tokens,
      long remaining,
      Optional<Duration> retryAfter,
      int queuePosition,
      Optional<Duration> eta,
      BudgetDimension binding,
      String ticket)
      implements TokenDecision {}

  /**
   * Denies the request: it is not in the waiting list, and no tokens were taken.
   *
   * @param reason the kind of denial
   * @param message the rule and the value that broke it
   */
  record Denied(
      String model,
      String priorityClass,
      long tokens,
      long remaining,
      Reason reason,
      String message)
      implements TokenDecision {}

  /**
   * Denies the request for good: it is larger than its class, its tenant or its model can ever be
   * granted.
   *
   * @param message the rule and the value that broke it
   */
  record Impossible(String model, String priorityClass, long tokens, long remaining, String message)
      implements TokenDecision {}

  /** Kinds of denials. */
  enum Reason {
    /** Too many requests wait for the model, or too many of the tenant. */
    TOO_MANY_WAITERS("too many requests are waiting"),
    /** The request was not granted within its maximum wait. */
    TIMEOUT("it was not granted within its maximum wait"),
    /** The ticket was neither awaited nor polled for the idle timeout. */
    ABANDONED("its ticket was neither awaited nor polled for %s"),
    /** The ticket was canceled. */
    CANCELLED("it was canceled"),
    /** The model or the priority class was removed from the configuration. */
    REMOVED("its model or class was removed"),
    /** The governor was closed. */
    CLOSED("the governor was closed"),
    /** The store of the budget does not answer, and the request cannot be granted without it. */
    UNAVAILABLE("the store of the budget does not answer");

    private final String words;

    Reason(String words) {
      this.words = words;
    }

    /**
     * Returns a description, with a placeholder for the idle timeout.
     *
     * @return a format
     */
    public String inWords() {
      return words;
    }
  }
}
