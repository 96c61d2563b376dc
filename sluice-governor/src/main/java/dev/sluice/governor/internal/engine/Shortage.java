package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetDimension;
import org.jspecify.annotations.Nullable;

/**
 * The model's own budget cannot serve the head of its waiting list.
 *
 * @param by tokens, or requests in a time
 * @param needed what the head takes of it
 * @param since from when on there was such a head without a break, whichever it was
 */
record Shortage(BudgetDimension by, long needed, long since) {
  /** Returns the shortage; null if something else than the model's own budget holds the head. */
  static @Nullable Shortage of(TokenDemand head, WaitReason held, long now) {
    return switch (held.by()) {
      case TOKENS -> new Shortage(BudgetDimension.TOKENS, head.tokens(), now);
      case REQUESTS -> new Shortage(BudgetDimension.REQUESTS, 1, now);
      default -> null;
    };
  }

  /** Returns this one, which goes on from an earlier one if there was any. */
  Shortage after(@Nullable Shortage earlier) {
    return earlier == null ? this : new Shortage(by, needed, earlier.since());
  }
}
