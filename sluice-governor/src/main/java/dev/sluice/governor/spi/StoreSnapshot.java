package dev.sluice.governor.spi;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import dev.sluice.governor.engine.ModelState;
import dev.sluice.governor.engine.ModelWaitingList;
import dev.sluice.governor.engine.OpenGrant;
import dev.sluice.governor.engine.OpenGrants;
import dev.sluice.governor.engine.Reservation;
import dev.sluice.governor.engine.Ticket;
import dev.sluice.governor.engine.Tickets;
import dev.sluice.governor.engine.TokenDemand;
import dev.sluice.governor.engine.TokenWaiter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reservations and tickets that are open in a store, for another one to go on with.
 *
 * @param reservations what was granted and is not settled
 * @param tickets the waiters, in order for each class
 * @since 0.1
 */
public record StoreSnapshot(
    List<StoreSnapshot.OpenReservation> reservations, List<StoreSnapshot.OpenTicket> tickets) {
  /** Nothing is open. */
  public static final StoreSnapshot NONE = new StoreSnapshot(List.of(), List.of());

  /** Copies the lists. */
  public StoreSnapshot {
    reservations = List.copyOf(reservations);
    tickets = List.copyOf(tickets);
  }

  public static StoreSnapshot of(OpenGrants grants, ModelWaitingList waitingList, Tickets tickets) {
    return new StoreSnapshot(
        grants.all().stream().map(StoreSnapshot.OpenReservation::of).toList(),
        waitingList.inOrder().stream()
            .map(each -> StoreSnapshot.OpenTicket.of(tickets.at(each), each))
            .toList());
  }

  /**
   * A reservation that is not settled.
   *
   * @param answer the decision for the caller
   * @param request what was asked for, as far as the store knows it
   * @param ticket what the caller knows it by; null for what was granted at once without a key
   * @param claimed whether the caller has learned of it
   * @since 0.1
   */
  public record OpenReservation(
      TokenDecision.Granted answer,
      TokenRequest request,
      @Nullable String ticket,
      boolean claimed) {
    static StoreSnapshot.OpenReservation of(OpenGrant grant) {
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

    private void into(ModelState state, TokenDemand demand, long now) {
      Ticket heldTicket = null;
      if (ticket != null) {
        heldTicket = new Ticket(ticket, request, 0, Ticket.NO_DEADLINE, now);
        heldTicket.claimed = claimed;
        heldTicket.decided = answer;
        state.tickets().add(heldTicket);
      }
      Reservation.Charge none = new Reservation.Charge(null, 0, 0);
      state.waitingList().resume();
      state
          .grants()
          .add(
              new OpenGrant(
                  answer,
                  new Reservation(demand, now, none, none, none),
                  heldTicket,
                  now + state.life()));
    }
  }

  /**
   * A ticket that waits.
   *
   * @param id what the caller knows it by
   * @param request what was asked for
   * @param tokens what will be charged for it
   * @param since when it was asked for, by the timer of the store
   * @param deadline when its longest wait ends, by the timer of the store; {@link Long#MAX_VALUE}
   *     for never
   * @since 0.1
   */
  public record OpenTicket(
      String id, TokenRequest request, long tokens, long since, long deadline) {
    static StoreSnapshot.OpenTicket of(Ticket ticket, TokenWaiter waiting) {
      return new StoreSnapshot.OpenTicket(
          ticket.id, ticket.request, waiting.demand.tokens(), waiting.since, ticket.deadline);
    }
  }

  /**
   * Restores the state of a new model store: reservations take slots, but were charged elsewhere,
   * and tickets wait. A ticket that this store can never grant is left out.
   */
  public void into(ModelState state, long now) {
    List<String> classes = List.copyOf(state.budget().priorityClasses().keySet());
    for (StoreSnapshot.OpenReservation each : reservations) {
      if (each.request().model().equals(state.model())) {
        int rank = classes.indexOf(each.request().priorityClass());
        int known = rank < 0 ? classes.size() - 1 : rank;
        each.into(state, demand(state, each.request(), known, each.answer().tokens()), now);
      }
    }
    // Before those of the store itself, which begin with 0.
    long number = -tickets.size();
    for (StoreSnapshot.OpenTicket each : tickets) {
      int rank = classes.indexOf(each.request().priorityClass());
      if (rank >= 0 && each.request().model().equals(state.model())) {
        place(state, each, demand(state, each.request(), rank, each.tokens()), number++, now);
      }
    }
  }

  private static TokenDemand demand(ModelState state, TokenRequest request, int rank, long tokens) {
    return new TokenDemand(request.tenant(), state.budget().weight(request.tenant()), rank, tokens);
  }

  private static void place(
      ModelState state, StoreSnapshot.OpenTicket place, TokenDemand demand, long number, long now) {
    if (demand.tokens() <= state.waitingList().largest(demand)) {
      Ticket ticket = new Ticket(place.id(), place.request(), number, place.deadline(), now);
      state.tickets().add(ticket);
      state.tickets().place(ticket, state.waitingList().enter(demand, place.since()));
    }
  }
}
