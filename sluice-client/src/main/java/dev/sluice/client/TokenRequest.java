package dev.sluice.client;

import java.time.Duration;

/**
 * A request for tokens of a model. Immutable: {@code TokenRequest.of("sonnet",
 * 5_000).withTenant("acme").withMaxWait(Duration.ofSeconds(30))}. The server checks the values.
 *
 * @since 0.1
 */
public final class TokenRequest {
  private final dev.sluice.proto.v1.TokenRequest wire;

  private TokenRequest(dev.sluice.proto.v1.TokenRequest wire) {
    this.wire = wire;
  }

  /**
   * Returns a request without tenant and of the default priority class, which waits without bound.
   *
   * @param model a model, or a route of several models
   * @param tokens the most tokens of input and output together
   * @return the request
   */
  public static TokenRequest of(String model, long tokens) {
    requirePositive("tokens", tokens);
    return new TokenRequest(
        dev.sluice.proto.v1.TokenRequest.newBuilder().setModel(model).setTokens(tokens).build());
  }

  /**
   * Returns this request with a priority class.
   *
   * @param priorityClass a class of the budget file
   * @return the changed request
   */
  public TokenRequest withPriorityClass(String priorityClass) {
    return new TokenRequest(wire.toBuilder().setPriority(priorityClass).build());
  }

  /**
   * Returns this request with a tenant: its fairness key, which may have a budget of its own.
   *
   * @param tenant the tenant
   * @return the changed request
   */
  public TokenRequest withTenant(String tenant) {
    return new TokenRequest(wire.toBuilder().setTenant(tenant).build());
  }

  /**
   * Returns this request with a bound on its time in the waiting list.
   *
   * @param maxWait at least a millisecond; whole milliseconds
   * @return the changed request
   */
  public TokenRequest withMaxWait(Duration maxWait) {
    requirePositive("maxWait in milliseconds", maxWait.toMillis());
    return new TokenRequest(wire.toBuilder().setMaxWaitMs(maxWait.toMillis()).build());
  }

  /**
   * Returns this request with an idempotency key: a repeated request finds its ticket or its grant.
   *
   * @param key unique among the requests of the model and tenant
   * @return the changed request
   */
  public TokenRequest withIdempotencyKey(String key) {
    return new TokenRequest(wire.toBuilder().setIdempotencyKey(key).build());
  }

  /**
   * Returns this request with its probable usage, which is reserved instead of the maximum.
   *
   * @param tokens expected tokens
   * @return the changed request
   */
  public TokenRequest withExpectedTokens(long tokens) {
    requirePositive("expected tokens", tokens);
    return new TokenRequest(wire.toBuilder().setExpectedTokens(tokens).build());
  }

  private static void requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException("%s must be positive, but was %d".formatted(name, value));
    }
  }

  dev.sluice.proto.v1.TokenRequest toWire() {
    return wire;
  }
}
