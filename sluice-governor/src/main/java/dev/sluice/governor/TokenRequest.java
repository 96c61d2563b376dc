package dev.sluice.governor;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What somebody asks for.
 *
 * @param model which model, or a route of several
 * @param tokens input and output together, at the most; no more than {@link #MOST_TOKENS}
 * @param priority its class
 * @param tenant whose turn and budget it is
 * @param deadline how long it may wait in line; null for as long as it takes
 * @param idempotencyKey the same request again finds its place, or its grant; null for none
 * @param expectedTokens what it will probably use, which is reserved instead: at least half of the
 *     tokens, and no less than what the tenant has been using of what it asked for; null for all
 * @since 0.1
 */
public record TokenRequest(
    String model,
    long tokens,
    String priority,
    String tenant,
    @Nullable Duration deadline,
    @Nullable String idempotencyKey,
    @Nullable Long expectedTokens) {
  /** The class of those who name none. */
  public static final String USUAL_PRIORITY = "P1_user";

  /** The tenant of those who name none. */
  public static final String NO_TENANT = "";

  /** More than anybody asks for or uses at once. */
  public static final long MOST_TOKENS = 1_000_000_000_000L;

  private static final int LONGEST_NAME = 256;
  private static final Duration LONGEST_DEADLINE = Duration.ofDays(1);

  /** Checks every part. */
  public TokenRequest {
    if (tokens <= 0) {
      throw new IllegalArgumentException("tokens must be positive: " + tokens);
    }
    if (tokens > MOST_TOKENS) {
      throw new IllegalArgumentException(
          "tokens must be at most %d: %d".formatted(MOST_TOKENS, tokens));
    }
    requireShort("model", model);
    requireShort("priority", priority);
    requireShort("tenant", tenant);
    if (idempotencyKey != null) {
      requireShort("idempotency key", idempotencyKey);
      if (idempotencyKey.isEmpty()) {
        throw new IllegalArgumentException("idempotency key must not be empty");
      }
    }
    if (deadline != null
        && (deadline.isNegative()
            || deadline.isZero()
            || deadline.compareTo(LONGEST_DEADLINE) > 0)) {
      throw new IllegalArgumentException(
          "deadline must be above 0 and at most %s: %s".formatted(LONGEST_DEADLINE, deadline));
    }
    if (expectedTokens != null && (expectedTokens < 1 || expectedTokens > tokens)) {
      throw new IllegalArgumentException(
          "expected tokens must be from 1 to %d: %d".formatted(tokens, expectedTokens));
    }
  }

  private static void requireShort(String name, String value) {
    if (value.length() > LONGEST_NAME) {
      throw new IllegalArgumentException(
          "%s must have at most %d characters: %d".formatted(name, LONGEST_NAME, value.length()));
    }
    // As bytes all of these would be the same.
    if (value.codePoints().anyMatch(each -> Character.getType(each) == Character.SURROGATE)) {
      throw new IllegalArgumentException(name + " must have no half of a surrogate pair");
    }
  }

  /**
   * Of no tenant in particular, that waits as long as it takes.
   *
   * @param model which model, or a route of several
   * @param tokens input and output together, at the most
   * @param priority its class
   * @return the request
   */
  public static TokenRequest of(String model, long tokens, String priority) {
    return new TokenRequest(model, tokens, priority, NO_TENANT, null, null, null);
  }

  /**
   * The same of another model.
   *
   * @param name which model
   * @return the request
   */
  public TokenRequest withModel(String name) {
    return new TokenRequest(
        name, tokens, priority, tenant, deadline, idempotencyKey, expectedTokens);
  }

  /**
   * The same, of a tenant.
   *
   * @param name whose turn and budget it is
   * @return the request
   */
  public TokenRequest withTenant(String name) {
    return new TokenRequest(
        model, tokens, priority, name, deadline, idempotencyKey, expectedTokens);
  }

  /**
   * The same, that waits no longer.
   *
   * @param most it leaves the line after this
   * @return the request
   */
  public TokenRequest withDeadline(Duration most) {
    return new TokenRequest(model, tokens, priority, tenant, most, idempotencyKey, expectedTokens);
  }

  /**
   * The same, that finds itself again when it is repeated.
   *
   * @param key the same for the same request, among all of this model and tenant
   * @return the request
   */
  public TokenRequest withIdempotencyKey(String key) {
    return new TokenRequest(model, tokens, priority, tenant, deadline, key, expectedTokens);
  }

  /**
   * The same, for which less may be reserved: at least half of its tokens, and no less than what
   * its tenant has been using of what it asked for.
   *
   * @param expected what it will probably use, at most {@code tokens}
   * @return the request
   */
  public TokenRequest withExpectedTokens(long expected) {
    return new TokenRequest(model, tokens, priority, tenant, deadline, idempotencyKey, expected);
  }
}
