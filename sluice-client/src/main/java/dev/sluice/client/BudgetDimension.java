package dev.sluice.client;

/**
 * A bound of a model's budget that can be exhausted.
 *
 * @since 0.1
 */
public enum BudgetDimension {
  /** Tokens of the model. */
  TOKENS,
  /** Tokens that the priority class may use; the rest is reserved for more urgent classes. */
  PRIORITY_CLASS,
  /** Tokens of the tenant. */
  TENANT,
  /** Requests per time. */
  REQUESTS,
  /** Concurrent requests. */
  CONCURRENCY,
  /** Nothing is exhausted, but other requests are earlier in the waiting list. */
  WAITING_LIST,
  /** The provider asked to retry later. */
  PROVIDER,
  /** Nothing is exhausted. */
  NONE,
  /** A dimension that this version of the client does not know. */
  OTHER
}
