package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;

/** Counts the decisions of a model. Guarded by the lock of the model. */
final class ModelCounters {
  private final String model;
  private final BudgetListener listener;
  private long total;
  private long accepted;
  private long consumed;
  private long refills;
  private long refilledAt;

  /** Tokens after the last decision. */
  private long left;

  ModelCounters(String model, BudgetListener listener, long available, long now) {
    this.model = model;
    this.listener = listener;
    this.left = available;
    this.refilledAt = now;
  }

  void asked(TokenRequest request, TokenDecision outcome, boolean atOnce, long now) {
    total++;
    accepted += atOnce ? 1 : 0;
    listener.requested(request, outcome, now);
  }

  void granted(TokenRequest request, long tokens, long waitedNanos, long now) {
    consumed += tokens;
    listener.granted(request, tokens, waitedNanos, now);
  }

  void settled(TokenSettlement settled, long grantedAt, long now) {
    consumed += settled.overusedTokens() - settled.refundedTokens();
    listener.settled(settled, grantedAt, now);
  }

  /** Records the tokens before a decision, to find refills since the last one. */
  void decides(long available, long now) {
    long more = available - left;
    if (more > 0) {
      refills++;
      refilledAt = now;
      listener.refilled(model, more, available, now);
    }
    left = available;
  }

  /** Records the tokens after a decision. */
  void leaves(long available) {
    left = available;
  }

  long refilledAt() {
    return refilledAt;
  }

  GovernorStatus.Counts counts() {
    return new GovernorStatus.Counts(total, accepted, total - accepted, consumed, refills);
  }
}
