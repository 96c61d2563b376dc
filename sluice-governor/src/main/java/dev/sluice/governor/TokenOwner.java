package dev.sluice.governor;

/**
 * The model, tenant and class of the request that a ticket or a reservation belongs to. A caller
 * that may make such a request may use the ticket or reservation.
 *
 * @param model which model; of a route, the one that was chosen
 * @param tenant whose turn and budget it is
 * @param priority its class
 * @since 0.1
 */
public record TokenOwner(String model, String tenant, String priority) {}
