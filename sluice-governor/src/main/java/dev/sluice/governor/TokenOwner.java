package dev.sluice.governor;

/**
 * Names the model, the tenant and the priority class of the request that a ticket or a reservation
 * belongs to. A caller that may make such a request may use the ticket or the reservation.
 *
 * @param model the model; of a route, the one that was chosen
 * @param tenant the tenant, empty for none
 * @param priorityClass the priority class
 * @since 0.1
 */
public record TokenOwner(String model, String tenant, String priorityClass) {}
