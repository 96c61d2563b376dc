package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts the tokens that this node grants in one outage, by the second of Redis's time, and
 * forwards the events to a listener. Unused tokens of a grant are subtracted from the second in
 * which it was granted. Thread-safe.
 */
public final class OutageGrantCounter implements BudgetListener {
  /** Redis counts as many seconds (COUNTED_SECONDS in clock.lua). */
  private static final int MOST_SECONDS = 1_024;

  private final BudgetListener listener;

  /** The same for the whole outage, so that a settlement finds the second of its grant. */
  private final long aheadNanos;

  // Guarded by this.
  private final TreeMap<Long, Long> bySecond = new TreeMap<>();
  private long granted;

  /**
   * Creates an empty count.
   *
   * @param aheadNanos how far the clock of Redis is ahead of the timer of the store
   */
  public OutageGrantCounter(BudgetListener listener, long aheadNanos) {
    this.listener = listener;
    this.aheadNanos = aheadNanos;
  }

  /** Returns the tokens granted in the last seconds, less their refunds. */
  public Map<Long, Long> bySecond() {
    return bySecond(aheadNanos);
  }

  /**
   * Returns {@link #bySecond()} for an outage that began before the clock of Redis was known.
   * Seconds are too early by less than one, so that no second has more than was granted in it.
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
    listener.requested(request, outcome, inTimeOfRedis(nanos));
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    long now = inTimeOfRedis(nanos);
    count(tokens, now);
    listener.granted(request, tokens, waitedNanos, now);
  }

  @Override
  public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
    long granted = inTimeOfRedis(grantedNanos);
    if (settled.refundedTokens() > 0) {
      takeBack(settled.refundedTokens(), granted);
    }
    listener.settled(settled, granted, inTimeOfRedis(nanos));
  }
}
