package dev.sluice.redis;

import java.util.Objects;
import java.util.Optional;

/**
 * Options of a shared token bucket, or of the named limits of a node.
 *
 * @param outageMode decides while Redis does not answer
 * @param tokenBlocks how tokens are borrowed in blocks; empty if every decision is made in Redis
 * @param crossSlotRequests whether a request may name limits in different slots of a cluster
 * @since 0.1
 */
public record SharedLimitOptions(
    OutageMode outageMode, Optional<TokenBlockConfig> tokenBlocks, boolean crossSlotRequests) {
  private static final SharedLimitOptions DEFAULTS =
      new SharedLimitOptions(OutageMode.LOCAL, Optional.empty(), false);

  public SharedLimitOptions {
    Objects.requireNonNull(outageMode, "outageMode");
    Objects.requireNonNull(tokenBlocks, "tokenBlocks");
  }

  /**
   * Returns the defaults: outage mode {@code LOCAL}, every decision in Redis.
   *
   * @return the options
   */
  public static SharedLimitOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Returns these options with another outage mode.
   *
   * @param mode decides while Redis does not answer
   * @return the options
   */
  public SharedLimitOptions withOutageMode(OutageMode mode) {
    return new SharedLimitOptions(mode, tokenBlocks, crossSlotRequests);
  }

  /**
   * Returns these options with token blocks of the default configuration.
   *
   * @return the options
   */
  public SharedLimitOptions withTokenBlocks() {
    return withTokenBlocks(TokenBlockConfig.DEFAULTS);
  }

  /**
   * Returns these options with token blocks.
   *
   * @param config how tokens are borrowed
   * @return the options
   */
  public SharedLimitOptions withTokenBlocks(TokenBlockConfig config) {
    return new SharedLimitOptions(outageMode, Optional.of(config), crossSlotRequests);
  }

  /**
   * Returns these options with requests whose limits lie in different slots of a cluster.
   *
   * <p>Such a request is not atomic: the slots are charged one after the other, and if one denies,
   * the tokens of the others are returned. Meanwhile other requests may be denied these tokens. The
   * limits are never exceeded, except that a bucket which has refilled before its tokens are
   * returned grants them again in the same window.
   *
   * @return the options
   */
  public SharedLimitOptions withCrossSlotRequests() {
    return new SharedLimitOptions(outageMode, tokenBlocks, true);
  }
}
