package dev.sluice.governor.engine;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenOwner;
import org.jspecify.annotations.Nullable;

/** What was granted and is not settled. Guarded by its desk. */
public final class OpenGrant {
  public final TokenDecision.Granted answer;
  public final Reservation reservation;

  /** What it came of; null for what was granted at once without a key. */
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
