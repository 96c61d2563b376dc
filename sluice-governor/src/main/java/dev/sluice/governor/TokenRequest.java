package dev.sluice.governor;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A request for tokens. Immutable.
 *
 * @since 0.1
 */
public final class TokenRequest {
  /** The tenant of a request without one. */
  public static final String NO_TENANT = "";

  /** The priority class of a request without one: the governor takes the model's least urgent. */
  public static final String NO_PRIORITY_CLASS = "";

  /** The most tokens of a request or a settlement. */
  public static final long MAX_TOKENS = 1_000_000_000_000L;

  private static final int MAX_NAME_LENGTH = 256;
  private static final Duration LONGEST_WAIT = Duration.ofDays(1);

  private final String model;
  private final long tokens;
  private final String priorityClass;
  private final String tenant;
  private final @Nullable Duration maxWait;
  private final @Nullable String idempotencyKey;
  private final @Nullable Long expectedTokens;

  private TokenRequest(
      String model,
      long tokens,
      String priorityClass,
      String tenant,
      @Nullable Duration maxWait,
      @Nullable String idempotencyKey,
      @Nullable Long expectedTokens) {
    requireTokens(tokens);
    requireName("model", model);
    requireName("priority class", priorityClass);
    requireName("tenant", tenant);
    if (idempotencyKey != null) {
      requireName("idempotency key", idempotencyKey);
      if (idempotencyKey.isEmpty()) {
        throw new IllegalArgumentException("idempotency key must not be empty");
      }
    }
    if (maxWait != null
        && (maxWait.isNegative() || maxWait.isZero() || maxWait.compareTo(LONGEST_WAIT) > 0)) {
      throw new IllegalArgumentException(
          "maximum wait must be above 0 and at most %s, but was %s"
              .formatted(LONGEST_WAIT, maxWait));
    }
    if (expectedTokens != null && (expectedTokens < 1 || expectedTokens > tokens)) {
      throw new IllegalArgumentException(
          "expected tokens must be from 1 to %d, but was %d".formatted(tokens, expectedTokens));
    }
    this.model = model;
    this.tokens = tokens;
    this.priorityClass = priorityClass;
    this.tenant = tenant;
    this.maxWait = maxWait;
    this.idempotencyKey = idempotencyKey;
    this.expectedTokens = expectedTokens;
  }

  private static void requireTokens(long tokens) {
    if (tokens <= 0) {
      throw new IllegalArgumentException("tokens must be positive, but was " + tokens);
    }
    if (tokens > MAX_TOKENS) {
      throw new IllegalArgumentException(
          "tokens must be at most %d, but was %d".formatted(MAX_TOKENS, tokens));
    }
  }

  private static void requireName(String name, String value) {
    if (value.length() > MAX_NAME_LENGTH) {
      throw new IllegalArgumentException(
          "%s must have at most %d characters, but had %d"
              .formatted(name, MAX_NAME_LENGTH, value.length()));
    }
    // All unpaired surrogates are the same in UTF-8.
    if (value.codePoints().anyMatch(each -> Character.getType(each) == Character.SURROGATE)) {
      throw new IllegalArgumentException(name + " must not contain an unpaired surrogate");
    }
  }

  /**
   * Returns a request without tenant, of the model's least urgent priority class, that waits for
   * any time.
   *
   * @param model a model, or a route of several models
   * @param tokens the most tokens of input and output together, at most {@link #MAX_TOKENS}
   * @return the request
   */
  public static TokenRequest of(String model, long tokens) {
    return new TokenRequest(model, tokens, NO_PRIORITY_CLASS, NO_TENANT, null, null, null);
  }

  /**
   * Returns the same request for another model.
   *
   * @param model a model, or a route of several models
   * @return a copy
   */
  public TokenRequest withModel(String model) {
    return new TokenRequest(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  /**
   * Returns the same request with a priority class.
   *
   * @param priorityClass a class of the model; empty for its least urgent one
   * @return a copy
   */
  public TokenRequest withPriorityClass(String priorityClass) {
    return new TokenRequest(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  /**
   * Returns the same request with a tenant, whose turn and budget it takes.
   *
   * @param tenant the tenant; empty for none
   * @return a copy
   */
  public TokenRequest withTenant(String tenant) {
    return new TokenRequest(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  /**
   * Returns the same request with a longest time in the waiting list.
   *
   * @param maxWait above 0 and at most a day
   * @return a copy
   */
  public TokenRequest withMaxWait(Duration maxWait) {
    return new TokenRequest(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  /**
   * Returns the same request with a key by which a repeated request finds its ticket or its grant.
   *
   * @param idempotencyKey identifies the request among all of its model and tenant
   * @return a copy
   */
  public TokenRequest withIdempotencyKey(String idempotencyKey) {
    return new TokenRequest(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  /**
   * Returns the same request with its probable usage, which is reserved instead of all tokens: at
   * least half of them, and no less than its tenant has been using of its requests.
   *
   * @param expectedTokens from 1 to {@code tokens}
   * @return a copy
   */
  public TokenRequest withExpectedTokens(long expectedTokens) {
    return new TokenRequest(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  /**
   * Returns the model, or a route of several models.
   *
   * @return its name
   */
  public String model() {
    return model;
  }

  /**
   * Returns the most tokens of input and output together.
   *
   * @return a positive number
   */
  public long tokens() {
    return tokens;
  }

  /**
   * Returns the priority class.
   *
   * @return its name; empty for the model's least urgent one
   */
  public String priorityClass() {
    return priorityClass;
  }

  /**
   * Returns the tenant.
   *
   * @return its name; empty for none
   */
  public String tenant() {
    return tenant;
  }

  /**
   * Returns the longest time in the waiting list.
   *
   * @return null for any time
   */
  public @Nullable Duration maxWait() {
    return maxWait;
  }

  /**
   * Returns the key by which a repeated request finds its ticket or its grant.
   *
   * @return null for none
   */
  public @Nullable String idempotencyKey() {
    return idempotencyKey;
  }

  /**
   * Returns the probable usage.
   *
   * @return null for all tokens
   */
  public @Nullable Long expectedTokens() {
    return expectedTokens;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof TokenRequest that
        && tokens == that.tokens
        && model.equals(that.model)
        && priorityClass.equals(that.priorityClass)
        && tenant.equals(that.tenant)
        && Objects.equals(maxWait, that.maxWait)
        && Objects.equals(idempotencyKey, that.idempotencyKey)
        && Objects.equals(expectedTokens, that.expectedTokens);
  }

  @Override
  public int hashCode() {
    return Objects.hash(
        model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }

  @Override
  public String toString() {
    return "TokenRequest[model=%s, tokens=%d, priorityClass=%s, tenant=%s, maxWait=%s, idempotencyKey=%s, expectedTokens=%s]"
        .formatted(model, tokens, priorityClass, tenant, maxWait, idempotencyKey, expectedTokens);
  }
}
