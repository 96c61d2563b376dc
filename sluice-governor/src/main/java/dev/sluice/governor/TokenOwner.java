package dev.sluice.governor;

/**
 * The request that a ticket or a reservation belongs to: whoever may make such a request may go on
 * with it.
 *
 * @param model which model; of a route, the one that was chosen
 * @param tenant whose turn and budget it is
 * @param priority its class
 * @since 0.1
 */
public record TokenOwner(String model, String tenant, String priority) {}
