package dev.sluice.cli;

import java.util.concurrent.TimeUnit;

/** How much a bucket that started full may have granted at most: capacity + rate · time. */
final class Allowance {
  private static final long NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final long capacity;
  private long perSecond;
  private long sinceNanos;

  /** Earned at earlier rates; a token counts a billion. */
  private long earnedNanoTokens;

  Allowance(long capacity, long perSecond, long startNanos) {
    this.capacity = capacity;
    this.perSecond = perSecond;
    this.sinceNanos = startNanos;
  }

  /** Another rate from now on. */
  void changeRate(long newPerSecond, long nowNanos) {
    earnedNanoTokens = nanoTokensAt(nowNanos);
    perSecond = newPerSecond;
    sinceNanos = nowNanos;
  }

  long perSecond() {
    return perSecond;
  }

  long legalAt(long nowNanos) {
    return capacity + nanoTokensAt(nowNanos) / NANOS_PER_SECOND;
  }

  private long nanoTokensAt(long nowNanos) {
    return earnedNanoTokens + perSecond * (nowNanos - sinceNanos);
  }
}
