package dev.sluice.client;

import java.time.Duration;

/**
 * Tokens of a model that somebody asks for. An immutable value: {@code TokenRequest.of("model",
 * 5_000).withPriority("P0_clinical").withTenant("acme")}. The server checks the values.
 *
 * @since 0.1
 */
public final class TokenRequest {
  private final dev.sluice.proto.v1.TokenRequest wire;

  private TokenRequest(dev.sluice.proto.v1.TokenRequest wire) {
    this.wire = wire;
  }

  /**
   * Of the usual class and no tenant in particular, that waits as long as it takes.
   *
   * @param model which model, or a route of several
   * @param tokens input and output together, at the most
   * @return the request
   */
  public static TokenRequest of(String model, long tokens) {
    requirePositive("tokens", tokens);
    return new TokenRequest(
        dev.sluice.proto.v1.TokenRequest.newBuilder().setModel(model).setTokens(tokens).build());
  }

  /**
   * The same, of a class.
   *
   * @param priority its name, such as {@code P0_clinical}
   * @return the request
   */
  public TokenRequest withPriority(String priority) {
    return new TokenRequest(wire.toBuilder().setPriority(priority).build());
  }

  /**
   * The same, of a tenant.
   *
   * @param tenant whose turn and budget it is
   * @return the request
   */
  public TokenRequest withTenant(String tenant) {
    return new TokenRequest(wire.toBuilder().setTenant(tenant).build());
  }

  /**
   * The same, that waits in line no longer.
   *
   * @param deadline at least a millisecond
   * @return the request
   */
  public TokenRequest withDeadline(Duration deadline) {
    requirePositive("deadline in milliseconds", deadline.toMillis());
    return new TokenRequest(wire.toBuilder().setMaxWaitMs(deadline.toMillis()).build());
  }

  /**
   * The same, that finds its place, or its grant, when it is made again.
   *
   * @param key the same for the same request, among all of its model and tenant
   * @return the request
   */
  public TokenRequest withIdempotencyKey(String key) {
    return new TokenRequest(wire.toBuilder().setIdempotencyKey(key).build());
  }

  /**
   * The same, for which less is reserved.
   *
   * @param tokens what it will probably use
   * @return the request
   */
  public TokenRequest withExpectedTokens(long tokens) {
    requirePositive("expected tokens", tokens);
    return new TokenRequest(wire.toBuilder().setExpectedTokens(tokens).build());
  }

  private static void requirePositive(String name, long value) {
    if (value <= 0) {
      throw new IllegalArgumentException("%s must be positive: %d".formatted(name, value));
    }
  }

  public dev.sluice.proto.v1.TokenRequest toWire() {
    return wire;
  }
}
