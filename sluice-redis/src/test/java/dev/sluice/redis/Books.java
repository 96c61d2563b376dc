package dev.sluice.redis;

import dev.sluice.redis.internal.limits.ScriptLimit;
import dev.sluice.testkit.redis.RedisServer;
import java.util.List;

/**
 * The state of a bucket as it is stored in Redis.
 *
 * @param debt units that are missing
 * @param at the microsecond of that
 * @param quota its limit
 */
record Books(long debt, long at, ScriptLimit quota) {
  private static final String READ =
      "local debt, at = struct.unpack('>dd', redis.call('GET', KEYS[1]))"
          + " return {string.format('%.0f', debt), string.format('%.0f', at)}";

  static Books of(RedisServer server, FleetNode node) {
    if (server.command("EVAL", READ, "1", node.place()) instanceof List<?> numbers) {
      return new Books(number(numbers.get(0)), number(numbers.get(1)), node.quota());
    }
    throw new IllegalStateException("no bucket at " + node.place());
  }

  private static long number(Object text) {
    return Long.parseLong(String.valueOf(text));
  }

  /** Tokens that were taken since the bucket was last full. */
  long tokensTaken(long fullAtMicros) {
    long accrued = (at - fullAtMicros) / quota.units().stepTicks() * quota.units().unitsPerStep();
    return (debt + accrued) / quota.units().unitsPerToken();
  }
}
