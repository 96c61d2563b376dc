package dev.sluice.client;

/**
 * What a request for tokens can be short of.
 *
 * @since 0.1
 */
public enum BudgetDimension {
  /** Tokens of the model. */
  TOKENS,
  /** Tokens that the class may have: the rest is kept for the classes above. */
  CLASS,
  /** Tokens of the tenant. */
  TENANT,
  /** Requests in a time. */
  REQUESTS,
  /** Requests at once. */
  CONCURRENCY,
  /** Nothing is short, but others are in line before. */
  LINE,
  /** The provider said to come back later. */
  PROVIDER,
  /** Nothing is short. */
  NONE,
  /** Something that only a later client knows. */
  OTHER
}
