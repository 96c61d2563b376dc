package dev.sluice.client;

import java.time.Duration;
import java.util.Optional;

/**
 * What became of a request for tokens.
 *
 * @since 0.1
 */
public sealed interface TokenDecision {
  /**
   * Which model; of a route, the one that was chosen.
   *
   * @return its name
   */
  String model();

  /**
   * Its class.
   *
   * @return its name
   */
  String priority();

  /**
   * Tokens that the model has left.
   *
   * @return less than 0 after overuse
   */
  long remaining();

  /**
   * Whether to go.
   *
   * @return true if the tokens are reserved
   */
  default boolean granted() {
    return this instanceof Granted;
  }

  /**
   * Go: the tokens are reserved, until they are settled.
   *
   * @param tokens granted; less than asked for if the model scales by class
   * @param requestedTokens asked for
   * @param reservation to be settled with what was used
   */
  record Granted(
      String model,
      String priority,
      long tokens,
      long requestedTokens,
      long remaining,
      String reservation)
      implements TokenDecision {}

  /**
   * Not yet: it is in line.
   *
   * @param tokens asked for
   * @param retryAfter what this alone would have to wait; no less will do. Empty if unknown
   * @param position from 1, over all classes
   * @param eta until its turn, if nothing arrives, leaves or is settled. Empty if unknown: all
   *     slots of the model are taken, or will be by those before it
   * @param binding what eta is by, or why it is empty
   * @param ticket its place in line
   */
  record Queued(
      String model,
      String priority,
      long tokens,
      long remaining,
      Optional<Duration> retryAfter,
      int position,
      Optional<Duration> eta,
      BudgetDimension binding,
      String ticket)
      implements TokenDecision {}

  /**
   * No: it is not in line, and nothing was taken.
   *
   * @param tokens asked for
   * @param reason what kind of no
   * @param message the rule and the value
   */
  record Denied(
      String model, String priority, long tokens, long remaining, Reason reason, String message)
      implements TokenDecision {}

  /** Kinds of no. */
  enum Reason {
    /** More than can ever be granted. */
    EXCEEDS_CAPACITY,
    /** Too many are in line. */
    LINE_FULL,
    /** Its deadline has come before its turn. */
    DEADLINE,
    /** Nobody asked for its ticket. */
    ABANDONED,
    /** It was told to leave. */
    CANCELLED,
    /** Its model or its class is not there any more. */
    REMOVED,
    /** The governor was closed. */
    CLOSED,
    /** One that only a later client knows. */
    OTHER
  }
}
