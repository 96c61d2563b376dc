package dev.sluice.governor;

import org.jspecify.annotations.Nullable;

/** What was granted and is not settled. Guarded by its desk. */
final class Grant {
  final Outcome.Granted answer;
  final Reservation reservation;

  /** What it came of; null for what was granted at once without a key. */
  final @Nullable TicketState ticket;

  long endsAt;

  Grant(
      Outcome.Granted answer, Reservation reservation, @Nullable TicketState ticket, long endsAt) {
    this.answer = answer;
    this.reservation = reservation;
    this.ticket = ticket;
    this.endsAt = endsAt;
  }

  String id() {
    return answer.reservation();
  }

  TokenOwner owner(String model) {
    return new TokenOwner(model, tenant(), answer.priority());
  }

  String tenant() {
    return reservation.demand.tenant();
  }
}
