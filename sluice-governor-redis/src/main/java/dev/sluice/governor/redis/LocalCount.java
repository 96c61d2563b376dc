package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.TokenRequest;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Counts what this node grants by itself in one outage, by the second of Redis's time, and passes
 * it on to a listener. Thread-safe.
 */
final class LocalCount implements BudgetListener {
  /** Redis counts no longer than this (countedExcess in meters.lua). */
  private static final int MOST_SECONDS = 128;

  private final BudgetListener told;
  private final LongSupplier serverNanos;

  // Guarded by this.
  private final TreeMap<Long, Long> bySecond = new TreeMap<>();
  private long granted;

  LocalCount(BudgetListener told, LongSupplier serverNanos) {
    this.told = told;
    this.serverNanos = serverNanos;
  }

  /** Returns the tokens granted, less those given back, of the last seconds. */
  synchronized Map<Long, Long> bySecond() {
    return new TreeMap<>(bySecond);
  }

  /** Returns the tokens granted since the outage began. */
  synchronized long granted() {
    return granted;
  }

  private synchronized void count(long tokens, long nanos) {
    granted += Math.max(0, tokens);
    bySecond.merge(TimeUnit.NANOSECONDS.toSeconds(nanos), tokens, Long::sum);
    if (bySecond.size() > MOST_SECONDS) {
      bySecond.pollFirstEntry();
    }
  }

  @Override
  public void asked(TokenRequest request, Outcome outcome, long nanos) {
    told.asked(request, outcome, serverNanos.getAsLong());
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    long now = serverNanos.getAsLong();
    count(tokens, now);
    told.granted(request, tokens, waitedNanos, now);
  }

  @Override
  public void settled(Settlement settled, long grantedNanos, long nanos) {
    long now = serverNanos.getAsLong();
    if (settled.refundedTokens() > 0) {
      count(-settled.refundedTokens(), now);
    }
    told.settled(settled, now - (nanos - grantedNanos), now);
  }
}
