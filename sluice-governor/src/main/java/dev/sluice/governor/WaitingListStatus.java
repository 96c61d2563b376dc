package dev.sluice.governor;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A part of the waiting list of a model.
 *
 * @param model its name
 * @param total the number of all waiting requests
 * @param eta by class: the time until the grant of its last request, zero without waiting requests;
 *     classes for which it is unknown are absent
 * @param binding by class: the dimension that determines the eta, or why it is unknown
 * @param tickets a part of the waiting list, in order
 * @since 0.1
 */
public record WaitingListStatus(
    String model,
    int total,
    Map<String, Duration> eta,
    Map<String, BudgetDimension> binding,
    List<WaitingListStatus.QueuedTicket> tickets) {
  /** The most tickets that one call returns. */
  public static final int MAX_TICKETS = 100;

  /** Copies the collections; keeps the order of the classes. */
  public WaitingListStatus {
    eta = Collections.unmodifiableMap(new LinkedHashMap<>(eta));
    binding = Collections.unmodifiableMap(new LinkedHashMap<>(binding));
    tickets = List.copyOf(tickets);
  }

  /**
   * A waiting request.
   *
   * @param ticket identifies it, for example to cancel it
   * @param tenant its tenant, empty for none
   * @param priorityClass its priority class
   * @param tokens the tokens of the request
   * @param queuePosition from 1, over all classes
   * @param eta the time until its grant, if no request arrives, leaves or is settled; empty if
   *     unknown
   * @param binding the dimension that determines the eta, or why it is empty
   * @param waited the time that it has waited
   */
  public record QueuedTicket(
      String ticket,
      String tenant,
      String priorityClass,
      long tokens,
      int queuePosition,
      Optional<Duration> eta,
      BudgetDimension binding,
      Duration waited) {}
}
