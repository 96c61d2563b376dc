package dev.sluice.governor;

/**
 * What can be short.
 *
 * @since 0.1
 */
public enum BudgetDimension {
  /** Tokens of the model. */
  TOKENS("the model has too few tokens"),
  /** Tokens that the class may have: the rest is kept for the classes above. */
  CLASS("the rest is kept for the classes above"),
  /** Tokens of the tenant. */
  TENANT("the tenant has too few tokens"),
  /** Requests in a time. */
  REQUESTS("there were too many requests"),
  /** Requests at once. */
  CONCURRENCY("too many requests run at once"),
  /** Nothing is short, but others are in line before. */
  LINE("others are in line before"),
  /** The provider said to come back later. */
  PROVIDER("the provider wants a pause"),
  /** Nothing is short. */
  NONE("nothing is short");

  private final String words;

  BudgetDimension(String words) {
    this.words = words;
  }

  public String inWords() {
    return words;
  }
}
