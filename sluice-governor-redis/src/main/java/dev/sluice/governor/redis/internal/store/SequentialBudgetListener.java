package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.TokenSettlement;
import dev.sluice.governor.redis.RedisBudgets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls a listener for one event at a time. Exceptions of the listener are logged: the events have
 * happened already.
 */
final class SequentialBudgetListener implements BudgetListener {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  private final BudgetListener listener;

  SequentialBudgetListener(BudgetListener listener) {
    this.listener = listener;
  }

  private synchronized void call(Runnable message) {
    try {
      message.run();
    } catch (RuntimeException failure) {
      LOG.warn("a listener of budgets failed", failure);
    }
  }

  @Override
  public void requested(TokenRequest request, TokenDecision outcome, long nanos) {
    call(() -> listener.requested(request, outcome, nanos));
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    call(() -> listener.granted(request, tokens, waitedNanos, nanos));
  }

  @Override
  public void settled(TokenSettlement settled, long grantedNanos, long nanos) {
    call(() -> listener.settled(settled, grantedNanos, nanos));
  }

  @Override
  public void refilled(String model, long tokens, long available, long nanos) {
    call(() -> listener.refilled(model, tokens, available, nanos));
  }
}
