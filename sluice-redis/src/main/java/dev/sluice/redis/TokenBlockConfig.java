package dev.sluice.redis;

import java.time.Duration;
import java.util.Objects;

/**
 * Sizes and lifetime of the token blocks that a node borrows from Redis, to grant their tokens
 * without a round trip.
 *
 * <p>A block has at most {@code maxShare} of the capacity and at most the tokens that are refilled
 * in {@code maxRefillTime}. No block is lent if less than {@code reserve} of the capacity would
 * remain; such decisions are made in Redis. Lent tokens count against the capacity, so the limit
 * holds in every window. Until a block is used up or returned, no other node can use its tokens.
 *
 * <p>Blocks serve only requests for a single bucket or name. {@code remaining} of such a grant is
 * what is left of the block; the bucket may have more. A denial always comes from Redis; its
 * retry-after assumes that lent blocks expire, and not that they are returned earlier.
 *
 * @param lifetime how long a block may be used, from 10 ms to 1 minute; the unused tokens of a node
 *     that died are lost afterwards
 * @param maxShare the largest part of the capacity in one block, above 0 and at most 1
 * @param maxRefillTime the longest time whose refill one block may have, positive
 * @param reserve the part of the capacity that is never lent, from 0 to below 1
 * @since 0.1
 */
public record TokenBlockConfig(
    Duration lifetime, double maxShare, Duration maxRefillTime, double reserve) {
  private static final Duration MIN_LIFETIME = Duration.ofMillis(10);
  private static final Duration MAX_LIFETIME = Duration.ofMinutes(1);

  /** Blocks of at most 5 % of the capacity or 100 ms of refill, for one second; 20 % reserve. */
  public static final TokenBlockConfig DEFAULTS =
      new TokenBlockConfig(Duration.ofSeconds(1), 0.05, Duration.ofMillis(100), 0.2);

  public TokenBlockConfig {
    Objects.requireNonNull(lifetime, "lifetime");
    Objects.requireNonNull(maxRefillTime, "maxRefillTime");
    if (lifetime.compareTo(MIN_LIFETIME) < 0 || lifetime.compareTo(MAX_LIFETIME) > 0) {
      throw new IllegalArgumentException(
          "lifetime must be from %s to %s, but was %s"
              .formatted(MIN_LIFETIME, MAX_LIFETIME, lifetime));
    }
    if (!(maxShare > 0 && maxShare <= 1)) {
      throw new IllegalArgumentException(
          "maxShare must be above 0 and at most 1, but was " + maxShare);
    }
    if (maxRefillTime.isNegative() || maxRefillTime.isZero()) {
      throw new IllegalArgumentException(
          "maxRefillTime must be positive, but was " + maxRefillTime);
    }
    if (!(reserve >= 0 && reserve < 1)) {
      throw new IllegalArgumentException("reserve must be from 0 to below 1, but was " + reserve);
    }
  }
}
