package dev.sluice.governor;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Who is in line for a model.
 *
 * @param model its name
 * @param total all in line
 * @param etaMs by class: until the turn of its last, 0 if the class has no request in line; without
 *     those for which it is unknown
 * @param binding by class: what the turn of its last is by, or why it is not known
 * @param tickets a part of the line, the first first
 * @since 0.1
 */
public record WaitingListStatus(
    String model,
    int total,
    Map<String, Long> etaMs,
    Map<String, BudgetDimension> binding,
    List<WaitingListStatus.QueuedTicket> tickets) {
  /** The most tickets that one call tells of. */
  public static final int MAX_TICKETS = 100;

  /** Keeps the order of the classes. */
  public WaitingListStatus {
    etaMs = Collections.unmodifiableMap(new LinkedHashMap<>(etaMs));
    binding = Collections.unmodifiableMap(new LinkedHashMap<>(binding));
    tickets = List.copyOf(tickets);
  }

  /**
   * A place in line.
   *
   * @param ticket by which it can be cancelled
   * @param tenant who asked
   * @param priority its class
   * @param tokens what was asked for
   * @param queuePosition from 1, over all classes
   * @param etaMs until its turn, if nothing arrives, leaves or is settled; empty if unknown
   * @param binding what etaMs is by, or why it is empty
   * @param waitedMs so far
   */
  public record QueuedTicket(
      String ticket,
      String tenant,
      String priority,
      long tokens,
      int queuePosition,
      OptionalLong etaMs,
      BudgetDimension binding,
      long waitedMs) {}
}
