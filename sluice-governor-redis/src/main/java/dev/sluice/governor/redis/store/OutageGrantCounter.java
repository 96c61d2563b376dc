package dev.sluice.governor.redis.store;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts what this node grants by itself in one outage, by the second of Redis's time, and passes
 * it on to a listener. Unused tokens of a grant are subtracted from the second in which it was
 * granted. Thread-safe.
 */
public final class OutageGrantCounter implements BudgetListener {
  /** Redis counts no longer than this (COUNTED_SECONDS in clock.lua). */
  private static final int MOST_SECONDS = 1_024;

  private final BudgetListener told;

  /** One difference for the whole outage: a settlement finds the second of its grant by it. */
  private final long aheadNanos;

  // Guarded by this.
  private final TreeMap<Long, Long> bySecond = new TreeMap<>();
  private long granted;

  /**
   * Creates a count of nothing.
   *
   * @param aheadNanos how far the clock of Redis is ahead of the timer of the store
   */
  public OutageGrantCounter(BudgetListener told, long aheadNanos) {
    this.told = told;
    this.aheadNanos = aheadNanos;
  }

  /** Returns the tokens granted in the last seconds, less those of them that were given back. */
  public Map<Long, Long> bySecond() {
    return bySecond(aheadNanos);
  }

  /**
   * {@link #bySecond()}, if the clock of Redis was not known when the outage began. By less than a
   * second too early, so that no second has more than was granted in it.
   *
   * @param ahead how far the clock of Redis is ahead of the timer of the store
   */
  synchronized Map<Long, Long> bySecond(long ahead) {
    long later = Math.floorDiv(ahead - aheadNanos, TimeUnit.SECONDS.toNanos(1));
    TreeMap<Long, Long> all = new TreeMap<>();
    bySecond.forEach((second, tokens) -> all.put(second + later, tokens));
    return all;
  }

  /** Returns the tokens granted since the outage began. */
  public synchronized long granted() {
    return granted;
  }

  private synchronized void count(long tokens, long nanos) {
    granted += tokens;
    bySecond.merge(TimeUnit.NANOSECONDS.toSeconds(nanos), tokens, Long::sum);
    if (bySecond.size() > MOST_SECONDS) {
      bySecond.pollFirstEntry();
    }
  }

  private synchronized void takeBack(long tokens, long grantedNanos) {
    bySecond.computeIfPresent(
        TimeUnit.NANOSECONDS.toSeconds(grantedNanos),
        (second, counted) -> Math.max(0, counted - tokens));
  }

  private long inTimeOfRedis(long nanos) {
    return nanos + aheadNanos;
  }

  @Override
  public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
    told.requested(request, outcome, inTimeOfRedis(nanos));
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    long now = inTimeOfRedis(nanos);
    count(tokens, now);
    told.granted(request, tokens, waitedNanos, now);
  }

  @Override
  public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
    long granted = inTimeOfRedis(grantedNanos);
    if (settled.refundedTokens() > 0) {
      takeBack(settled.refundedTokens(), granted);
    }
    told.settled(settled, granted, inTimeOfRedis(nanos));
  }
}
