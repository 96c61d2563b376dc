package dev.sluice.redis;

import java.time.Duration;
import java.util.Objects;

/**
 * How a node takes tokens in advance, to decide about them by itself.
 *
 * <p>A block has at most {@code share} of the capacity and at most what accrues in {@code worth};
 * where less than {@code reserve} of the capacity would be left there are no blocks, and every
 * decision is made in Redis. What is out on lease counts against the capacity, so the limit holds
 * in every window. Until a block is used up or returned, nobody else gets its tokens.
 *
 * <p>Only decisions about a single bucket or key are made from blocks; what remains after such a
 * grant is what is left of the block, of the bucket it may be more. A denial always comes from
 * Redis; its retry-after counts on blocks that end, not on those that are returned before.
 *
 * @param ttl how long a block may be used; what a node that died had left is lost after it
 * @param share part of the capacity that one block may have, above 0 and at most 1
 * @param worth refill time that one block may have, positive
 * @param reserve part of the capacity that blocks leave alone, from 0 to below 1
 * @since 0.1
 */
public record TokenBlockConfig(Duration ttl, double share, Duration worth, double reserve) {
  private static final Duration MIN_TTL = Duration.ofMillis(10);
  private static final Duration MAX_TTL = Duration.ofMinutes(1);

  /** Blocks of 5 % or 100 ms for one second; none of the last fifth. */
  public static final TokenBlockConfig DEFAULTS =
      new TokenBlockConfig(Duration.ofSeconds(1), 0.05, Duration.ofMillis(100), 0.2);

  public TokenBlockConfig {
    Objects.requireNonNull(ttl, "ttl");
    Objects.requireNonNull(worth, "worth");
    if (ttl.compareTo(MIN_TTL) < 0 || ttl.compareTo(MAX_TTL) > 0) {
      throw new IllegalArgumentException(
          "ttl must be from %s to %s: ttl=%s".formatted(MIN_TTL, MAX_TTL, ttl));
    }
    if (!(share > 0 && share <= 1)) {
      throw new IllegalArgumentException("share must be above 0 and at most 1: share=" + share);
    }
    if (worth.isNegative() || worth.isZero()) {
      throw new IllegalArgumentException("worth must be positive: worth=" + worth);
    }
    if (!(reserve >= 0 && reserve < 1)) {
      throw new IllegalArgumentException("reserve must be from 0 to below 1: reserve=" + reserve);
    }
  }
}
