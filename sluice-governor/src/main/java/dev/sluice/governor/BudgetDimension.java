package dev.sluice.governor;

/**
 * A bound of a budget that can be exhausted.
 *
 * @since 0.1
 */
public enum BudgetDimension {
  /** Tokens of the model. */
  TOKENS("the model has too few tokens"),
  /** Tokens that the priority class may use: the rest is kept for more urgent classes. */
  PRIORITY_CLASS("the remaining tokens are kept for more urgent classes"),
  /** Tokens of the tenant. */
  TENANT("the tenant has too few tokens"),
  /** Requests per time. */
  REQUESTS("the model has had too many requests"),
  /** Concurrent requests. */
  CONCURRENCY("too many requests run at once"),
  /** No dimension is exhausted, but other requests wait before this one. */
  WAITING_LIST("other requests wait before it"),
  /** The provider demanded a pause. */
  PROVIDER("the provider demanded a pause"),
  /** No dimension is exhausted. */
  NONE("nothing is exhausted");

  private final String words;

  BudgetDimension(String words) {
    this.words = words;
  }

  /**
   * Returns why a request has to wait.
   *
   * @return a description
   */
  public String inWords() {
    return words;
  }
}
