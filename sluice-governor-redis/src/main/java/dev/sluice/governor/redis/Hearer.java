package dev.sluice.governor.redis;

import dev.sluice.governor.BudgetListener;
import dev.sluice.governor.Outcome;
import dev.sluice.governor.Settlement;
import dev.sluice.governor.TokenRequest;
import java.util.function.LongSupplier;

/** Tells a listener what a share decides, at the time of Redis, as long as the share lasts. */
final class Hearer implements BudgetListener {
  private final BudgetListener told;
  private final LongSupplier serverNanos;
  private volatile boolean ended;

  Hearer(BudgetListener told, LongSupplier serverNanos) {
    this.told = told;
    this.serverNanos = serverNanos;
  }

  /** What is done from now on is only reckoned. */
  void end() {
    ended = true;
  }

  @Override
  public void asked(TokenRequest request, Outcome outcome, long nanos) {
    told.asked(request, outcome, serverNanos.getAsLong());
  }

  @Override
  public void granted(TokenRequest request, long tokens, long waitedNanos, long nanos) {
    told.granted(request, tokens, waitedNanos, serverNanos.getAsLong());
  }

  @Override
  public void settled(Settlement settled, long grantedNanos, long nanos) {
    if (!ended) {
      long now = serverNanos.getAsLong();
      told.settled(settled, now - (nanos - grantedNanos), now);
    }
  }
}
