package dev.sluice.governor;

import java.util.OptionalLong;

/**
 * What became of a request.
 *
 * @since 0.1
 */
public sealed interface TokenDecision {
  /**
   * The model that was asked for.
   *
   * @return its name
   */
  String model();

  /**
   * The class of the request.
   *
   * @return its name
   */
  String priority();

  /**
   * Tokens that the model has left.
   *
   * @return less than zero after usage beyond what was reserved
   */
  long remaining();

  /**
   * Go: the tokens are reserved, until they are settled.
   *
   * @param tokens granted; less than asked for in the mode {@link Allocation#SCALE}
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
   * @param waitMs what this alone would have to wait; no less will do. Empty if unknown
   * @param queuePosition from 1, over all classes
   * @param etaMs until its turn, if nothing arrives, leaves or is settled. Empty if unknown, as for
   *     a slot of the model's concurrency, which is free when another call is settled
   * @param binding what etaMs is by, or why it is empty
   * @param ticket its place in line
   */
  record Queued(
      String model,
      String priority,
      long tokens,
      long remaining,
      OptionalLong waitMs,
      int queuePosition,
      OptionalLong etaMs,
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
    EXCEEDS_CAPACITY("more than can ever be granted"),
    /** Too many are in line. */
    LINE_FULL("too many are in line"),
    /** Its deadline has come before its turn. */
    DEADLINE("its deadline came before its turn"),
    /** Nobody asked for its ticket. */
    ABANDONED("nobody asked for it for %s"),
    /** It was told to leave. */
    CANCELLED("it was cancelled"),
    /** Its model or its class is not there any more. */
    REMOVED("its model or class was removed"),
    /** The governor was closed. */
    CLOSED("the governor was closed"),
    /** Where the budget is kept cannot be asked, and nothing can be granted without it. */
    UNAVAILABLE("the budget cannot be asked for now");

    private final String words;

    Reason(String words) {
      this.words = words;
    }

    public String inWords() {
      return words;
    }
  }
}
