package dev.sluice.governor.internal.engine;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenOwner;
import org.jspecify.annotations.Nullable;

/** A grant that is not settled. Guarded by the lock of its model. */
public final class OpenGrant {
  public final TokenDecision.Granted answer;
  public final Reservation reservation;

  /** The ticket of the request; null for a grant at once without an idempotency key. */
  public final @Nullable Ticket ticket;

  public long endsAt;

  public OpenGrant(
      TokenDecision.Granted answer, Reservation reservation, @Nullable Ticket ticket, long endsAt) {
    this.answer = answer;
    this.reservation = reservation;
    this.ticket = ticket;
    this.endsAt = endsAt;
  }

  public String id() {
    return answer.reservation();
  }

  TokenOwner owner(String model) {
    return new TokenOwner(model, tenant(), answer.priorityClass());
  }

  public String tenant() {
    return reservation.demand.tenant();
  }
}
