package dev.sluice.client;

import java.time.Duration;
import java.util.Optional;

/**
 * The result of a token request: granted, queued, denied or impossible.
 *
 * @since 0.1
 */
public sealed interface TokenDecision {
  /**
   * Returns the model; of a route, the chosen one.
   *
   * @return the model's name
   */
  String model();

  /**
   * Returns the priority class of the request.
   *
   * @return the class's name
   */
  String priorityClass();

  /**
   * Returns the tokens of the decision: granted or requested ones.
   *
   * @return tokens, at least 1
   */
  long tokens();

  /**
   * Returns the tokens that the model has left.
   *
   * @return tokens; negative after overuse
   */
  long remaining();

  /**
   * Returns whether the tokens are reserved.
   *
   * @return true exactly for {@link Granted}
   */
  default boolean isGranted() {
    return this instanceof Granted;
  }

  /**
   * The tokens are reserved until the reservation is settled.
   *
   * @param model the model; of a route, the chosen one
   * @param priorityClass the priority class of the request
   * @param tokens granted tokens; fewer than requested if the model scales by class
   * @param remaining tokens that the model has left
   * @param requestedTokens requested tokens
   * @param reservation identifies the reservation; for {@link GovernorClient#settle}
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
   * The request is in the waiting list.
   *
   * @param model the model; of a route, the chosen one
   * @param priorityClass the priority class of the request
   * @param tokens requested tokens
   * @param remaining tokens that the model has left
   * @param retryAfter the shortest wait if no other request were waiting; empty if unknown
   * @param queuePosition place in the waiting list, from 1, over all classes
   * @param eta estimated time until the grant, if no request arrives, leaves or is settled; empty
   *     if unknown because this request or one before it needs a slot of concurrency
   * @param binding the dimension that determines {@code eta}, or makes it unknown
   * @param ticket identifies the request in the waiting list; for {@link GovernorClient#await}
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
   * The request is denied or has left the waiting list; it took no tokens.
   *
   * @param model the model
   * @param priorityClass the priority class of the request
   * @param tokens requested tokens
   * @param remaining tokens that the model has left
   * @param reason why it is denied
   * @param message the rule and the value, in words
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
   * The model can never grant so many tokens.
   *
   * @param model the model
   * @param priorityClass the priority class of the request
   * @param tokens requested tokens
   * @param remaining tokens that the model has left
   * @param message the rule and the value, in words
   */
  record Impossible(String model, String priorityClass, long tokens, long remaining, String message)
      implements TokenDecision {}

  /** Reasons of {@link Denied}. */
  enum Reason {
    /** The waiting list is full. */
    TOO_MANY_WAITERS,
    /** The request's maximum wait ended before its turn. */
    TIMEOUT,
    /** The ticket was not polled in time. */
    ABANDONED,
    /** The ticket was canceled. */
    CANCELLED,
    /** The model or the priority class was removed from the budget file. */
    REMOVED,
    /** The governor was closed. */
    CLOSED,
    /** A reason that this version of the client does not know. */
    OTHER
  }
}
