package dev.sluice.governor;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What somebody asks for.
 *
 * @param model which model
 * @param tokens input and output together, as far as can be said before
 * @param priority its class
 * @param tenant whose turn and budget it is
 * @param deadline how long it may wait in line; null for as long as it takes
 * @param idempotencyKey the same request again finds its place, or its grant; null for none
 * @since 0.1
 */
public record TokenRequest(
    String model,
    long tokens,
    String priority,
    String tenant,
    @Nullable Duration deadline,
    @Nullable String idempotencyKey) {
  /** The tenant of those who name none. */
  public static final String NO_TENANT = "";

  /**
   * Of no tenant in particular, that waits as long as it takes.
   *
   * @param model which model
   * @param tokens input and output together
   * @param priority its class
   * @return the request
   */
  public static TokenRequest of(String model, long tokens, String priority) {
    return new TokenRequest(model, tokens, priority, NO_TENANT, null, null);
  }

  /**
   * The same, of a tenant.
   *
   * @param name whose turn and budget it is
   * @return the request
   */
  public TokenRequest withTenant(String name) {
    return new TokenRequest(model, tokens, priority, name, deadline, idempotencyKey);
  }

  /**
   * The same, that waits no longer.
   *
   * @param most it leaves the line after this
   * @return the request
   */
  public TokenRequest withDeadline(Duration most) {
    return new TokenRequest(model, tokens, priority, tenant, most, idempotencyKey);
  }

  /**
   * The same, that finds itself again when it is repeated.
   *
   * @param key the same for the same request, among all of this model and tenant
   * @return the request
   */
  public TokenRequest withIdempotencyKey(String key) {
    return new TokenRequest(model, tokens, priority, tenant, deadline, key);
  }
}
