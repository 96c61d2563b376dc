package dev.sluice.governor;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Who is in line for a model.
 *
 * @param model its name
 * @param total all in line
 * @param etaMs by class: until all who are in line have had their turn, if nothing changes
 * @param tickets a part of the line, the first first
 * @since 0.1
 */
public record ModelQueue(String model, int total, Map<String, Long> etaMs, List<Place> tickets) {
  /** The most tickets that one call tells of. */
  public static final int MAX_TICKETS = 100;

  /** Keeps the order of the classes. */
  public ModelQueue {
    etaMs = Collections.unmodifiableMap(new LinkedHashMap<>(etaMs));
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
   * @param etaMs until its turn, if nothing changes
   * @param waitedMs so far
   */
  public record Place(
      String ticket,
      String tenant,
      String priority,
      long tokens,
      int queuePosition,
      long etaMs,
      long waitedMs) {}
}
