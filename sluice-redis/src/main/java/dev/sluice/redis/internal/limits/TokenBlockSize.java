package dev.sluice.redis.internal.limits;

import dev.sluice.redis.TokenBlockConfig;
import java.util.concurrent.TimeUnit;

/**
 * On what terms one limit is leased.
 *
 * @param under what the limit was found by; as long as it is the same object, so is the limit
 * @param version of the rules it was found in
 * @param quota the limit
 * @param block tokens that a block has at most
 * @param reserveUnits what blocks leave alone
 */
public record TokenBlockSize(
    Object under, long version, ScriptLimit quota, long block, long reserveUnits) {
  public static TokenBlockSize of(
      TokenBlockConfig lease, Object under, long version, ScriptLimit quota) {
    double unit = quota.units().unitsPerToken();
    double capacity = quota.units().capacityUnits();
    double tokens = capacity / unit * lease.maxShare();
    if (quota.units().refills()) {
      double steps = TimeUnit.NANOSECONDS.toMicros(lease.maxRefillTime().toNanos());
      steps /= quota.units().stepTicks();
      tokens = Math.min(tokens, steps * quota.units().unitsPerStep() / unit);
    }
    long reserve = (long) Math.ceil(capacity * lease.reserve());
    return new TokenBlockSize(under, version, quota, (long) tokens, reserve);
  }

  /** Whether a block is worth asking for by someone who needs so many tokens. */
  boolean suits(long tokens) {
    return block >= 2 && tokens <= block / 2;
  }
}
