package dev.sluice.governor.spi;

import dev.sluice.governor.TokenDecision;
import dev.sluice.governor.TokenRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The open reservations and tickets of a store, with which another store continues.
 *
 * @param reservations grants that are not settled
 * @param tickets waiting requests, in order for each class
 * @since 0.1
 */
public record StoreSnapshot(
    List<StoreSnapshot.OpenReservation> reservations, List<StoreSnapshot.OpenTicket> tickets) {
  /** The snapshot of a store without reservations and tickets. */
  public static final StoreSnapshot NONE = new StoreSnapshot(List.of(), List.of());

  /** Copies the lists. */
  public StoreSnapshot {
    reservations = List.copyOf(reservations);
    tickets = List.copyOf(tickets);
  }

  /**
   * A reservation that is not settled.
   *
   * @param answer the decision for the caller
   * @param request the request, as far as the store knows it
   * @param ticket the id of its ticket; null if it was granted at once without a key
   * @param claimed whether the grant was delivered to the caller
   * @since 0.1
   */
  public record OpenReservation(
      TokenDecision.Granted answer,
      TokenRequest request,
      @Nullable String ticket,
      boolean claimed) {}

  /**
   * A ticket that waits.
   *
   * @param id the id of the ticket
   * @param request the request
   * @param tokens the tokens that a grant will charge
   * @param since the time of the request, by the timer of the store
   * @param deadline the end of its longest wait, by the timer of the store; {@link Long#MAX_VALUE}
   *     for never
   * @since 0.1
   */
  public record OpenTicket(
      String id, TokenRequest request, long tokens, long since, long deadline) {}
}
