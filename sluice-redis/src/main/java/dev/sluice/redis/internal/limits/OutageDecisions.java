package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import java.util.concurrent.TimeUnit;

/** Decisions that are made in an outage without looking at a bucket. */
public final class OutageDecisions {
  /** The retry-after of denials: when Redis answers again is not known. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  public static final Decision DENIED = new Decision.Denied("", RETRY_NANOS);

  /** A grant of mode {@code OPEN}; the remaining tokens are not known. */
  public static final Decision GRANTED = new Decision.Granted(0);

  private OutageDecisions() {}

  /** Whether it is a grant of which no bucket knows. */
  @SuppressWarnings("ReferenceEquality") // others that are equal took tokens
  static boolean tookNothing(Decision decision) {
    return decision == GRANTED;
  }

  static Decision denied(String limitName) {
    return new Decision.Denied(limitName, RETRY_NANOS);
  }

  /** Turns a refusal for good into a denial: the whole limit can grant what a share cannot. */
  static Decision temporary(Decision decision) {
    if (decision instanceof Decision.Depleted depleted) {
      return denied(depleted.limitName());
    }
    return decision instanceof Decision.Impossible impossible
        ? denied(impossible.limitName())
        : decision;
  }
}
