package dev.sluice.governor.internal.engine;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.spi.StoreSnapshot;
import java.util.List;

/** Converts the state of a model to a snapshot, and restores it from one. */
public final class Snapshots {
  private Snapshots() {}

  /** Returns the open reservations and the waiting tickets of a model. */
  static StoreSnapshot of(OpenGrants grants, ModelWaitingList waitingList, Tickets tickets) {
    return new StoreSnapshot(
        grants.all().stream().map(Snapshots::reservation).toList(),
        waitingList.inOrder().stream().map(each -> ticket(tickets.at(each), each)).toList());
  }

  private static StoreSnapshot.OpenReservation reservation(OpenGrant grant) {
    Ticket ticket = grant.ticket;
    TokenDecision.Granted answer = grant.answer;
    return new StoreSnapshot.OpenReservation(
        answer,
        ticket == null
            ? TokenRequest.of(answer.model(), answer.requestedTokens())
                .withPriorityClass(answer.priorityClass())
                .withTenant(grant.tenant())
            : ticket.request,
        ticket == null ? null : ticket.id,
        ticket == null || ticket.claimed);
  }

  private static StoreSnapshot.OpenTicket ticket(Ticket ticket, TokenWaiter waiting) {
    return new StoreSnapshot.OpenTicket(
        ticket.id, ticket.request, waiting.demand.tokens(), waiting.since, ticket.deadline);
  }

  /**
   * Restores the state of a new model store: reservations take slots, but were charged elsewhere,
   * and tickets wait. A ticket that this store can never grant is left out.
   */
  public static void restore(StoreSnapshot snapshot, ModelState state, long now) {
    List<String> classes = List.copyOf(state.budget().priorityClasses().keySet());
    for (StoreSnapshot.OpenReservation each : snapshot.reservations()) {
      if (each.request().model().equals(state.model())) {
        int rank = classes.indexOf(each.request().priorityClass());
        int known = rank < 0 ? classes.size() - 1 : rank;
        hold(state, each, demand(state, each.request(), known, each.answer().tokens()), now);
      }
    }
    // Before the tickets of the store itself, whose numbers begin with 0.
    long number = -snapshot.tickets().size();
    for (StoreSnapshot.OpenTicket each : snapshot.tickets()) {
      int rank = classes.indexOf(each.request().priorityClass());
      if (rank >= 0 && each.request().model().equals(state.model())) {
        enqueue(state, each, demand(state, each.request(), rank, each.tokens()), number++, now);
      }
    }
  }

  private static TokenDemand demand(ModelState state, TokenRequest request, int rank, long tokens) {
    return new TokenDemand(request.tenant(), state.budget().weight(request.tenant()), rank, tokens);
  }

  private static void hold(
      ModelState state, StoreSnapshot.OpenReservation open, TokenDemand demand, long now) {
    Ticket ticket = null;
    if (open.ticket() != null) {
      ticket = new Ticket(open.ticket(), open.request(), 0, Ticket.NO_DEADLINE, now);
      ticket.claimed = open.claimed();
      ticket.decided = open.answer();
      state.tickets().add(ticket);
    }
    Reservation.Charge none = new Reservation.Charge(null, 0, 0);
    state.waitingList().resume();
    state
        .grants()
        .add(
            new OpenGrant(
                open.answer(),
                new Reservation(demand, now, none, none, none),
                ticket,
                now + state.life()));
  }

  private static void enqueue(
      ModelState state, StoreSnapshot.OpenTicket open, TokenDemand demand, long number, long now) {
    if (demand.tokens() <= state.waitingList().largest(demand)) {
      Ticket ticket = new Ticket(open.id(), open.request(), number, open.deadline(), now);
      state.tickets().add(ticket);
      state.tickets().place(ticket, state.waitingList().enter(demand, open.since()));
    }
  }
}
