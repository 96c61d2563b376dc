package dev.sluice.broker.internal.hooks;

import dev.sluice.broker.BrokerException;
import java.util.concurrent.TimeUnit;

/**
 * Adds up what the scripts of one call use, so that a large batch cannot multiply the budget of a
 * single run.
 *
 * <p>A run that has begun ends by its own {@link HookLimits}; the caller asks {@link #isSpent}
 * before the next one. Used by one thread at a time.
 */
public final class HookBudget {
  static final long MAX_INSTRUCTIONS = 5_000_000;
  static final long MAX_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** The instructions that a run is charged besides its own: the cost of setting it up. */
  static final int RUN_INSTRUCTIONS = 50;

  private long instructions;
  private long nanos;

  /** Counts a run that has ended, however it did. */
  public void charge(long ranInstructions, long ranNanos) {
    instructions += ranInstructions + RUN_INSTRUCTIONS;
    nanos += ranNanos;
  }

  /** Returns whether the budget is used up: no further script may run. */
  public boolean isSpent() {
    return instructions >= MAX_INSTRUCTIONS || nanos >= MAX_NANOS;
  }

  /** Returns the refusal of a call to enqueue {@code messages}, {@code done} of them decided. */
  public BrokerException refusal(String queue, int done, int messages) {
    return new BrokerException(
        BrokerException.Code.HOOK_BUDGET,
        ("the hooks of one call must use at most %d instructions and %d ms together, send fewer"
                + " messages at once: queue=%s, used=%d instructions and %d ms for %d of %d messages")
            .formatted(
                MAX_INSTRUCTIONS,
                TimeUnit.NANOSECONDS.toMillis(MAX_NANOS),
                queue,
                instructions,
                TimeUnit.NANOSECONDS.toMillis(nanos),
                done,
                messages));
  }
}
