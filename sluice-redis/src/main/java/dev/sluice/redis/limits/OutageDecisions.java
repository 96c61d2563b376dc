package dev.sluice.redis.limits;

import dev.sluice.Decision;
import dev.sluice.ThrottleDecision;
import java.util.concurrent.TimeUnit;

/** Answers of an outage. */
public final class OutageDecisions {
  /** When to ask again: nobody knows when Redis is back. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

  public static final Decision DENIED = Decision.denied(RETRY_NANOS);

  /** What is left is not known. */
  public static final Decision GRANTED = Decision.granted(0);

  private OutageDecisions() {}

  /** Whether it is a grant of which no bucket knows. */
  @SuppressWarnings("ReferenceEquality") // others that are equal took tokens
  static boolean tookNothing(Decision decision) {
    return decision == GRANTED;
  }

  static ThrottleDecision denied(String key) {
    return ThrottleDecision.denied(key, RETRY_NANOS);
  }

  /** What a share can never grant, the whole limit can. */
  static Decision temporary(Decision decision) {
    return decision.isGranted() || decision instanceof Decision.Denied ? decision : DENIED;
  }

  static ThrottleDecision temporary(ThrottleDecision decision) {
    if (decision instanceof ThrottleDecision.Depleted depleted) {
      return denied(depleted.bindingKey());
    }
    return decision instanceof ThrottleDecision.Impossible impossible
        ? denied(impossible.bindingKey())
        : decision;
  }
}
