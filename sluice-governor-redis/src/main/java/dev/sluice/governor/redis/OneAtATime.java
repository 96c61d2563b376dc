package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.TokenRequest;

/** Tells a listener one thing after the other, whoever decides. */
final class OneAtATime implements BudgetListener {
  private final BudgetListener told;

  OneAtATime(BudgetListener told) {
    this.told = told;
  }

  @Override
  public synchronized void asked(TokenRequest request, Outcome outcome, long nanos) {
    told.asked(request, outcome, nanos);
  }

  @Override
  public synchronized void granted(
      TokenRequest request, long tokens, long waitedNanos, long nanos) {
    told.granted(request, tokens, waitedNanos, nanos);
  }

  @Override
  public synchronized void settled(Settlement settled, long grantedNanos, long nanos) {
    told.settled(settled, grantedNanos, nanos);
  }

  @Override
  public synchronized void refilled(String model, long tokens, long available, long nanos) {
    told.refilled(model, tokens, available, nanos);
  }
}
