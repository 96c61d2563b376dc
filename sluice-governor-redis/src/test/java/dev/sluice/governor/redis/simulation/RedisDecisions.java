package dev.sluice.governor.redis.simulation;

import dev.sluice.redis.simulation.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the decisions of Redis from its replies: its grants, the nodes that received them, and its
 * refunds. Shares no code with the classes that it checks.
 */
final class RedisDecisions {
  private static final int FAST_GRANT = 4;
  private static final int FAST_SETTLEMENT = 9;
  private static final int DECISIONS = 3;
  private static final int RESULT = 4;
  private static final int KEY = 8;
  private static final int ARGUMENTS_OF_GRANT = 8;

  private final Map<String, List<Grant>> grants = new HashMap<>();
  private final Map<String, Set<String>> concerned = new HashMap<>();
  private final Map<String, Long> refunds = new HashMap<>();
  private final Map<String, Long> settledNanos = new HashMap<>();
  private final Set<String> returned = new HashSet<>();
  private final Map<String, Long> endedNanos = new HashMap<>();
  private final Map<String, String> keys = new HashMap<>();

  /**
   * A grant that Redis made.
   *
   * @param nanos the time of the grant
   * @param node the calling node
   */
  record Grant(long nanos, String node) {}

  /** Records an answer. */
  void ran(Request request, @Nullable List<Object> answer, long nanos) {
    if (answer == null || answer.size() <= 1) {
      return;
    }
    String[] arguments = request.arguments();
    switch (String.valueOf(request.script())) {
      case "REQUEST" -> {
        keys.put(arguments[1], arguments[KEY]);
        concerned.computeIfAbsent(arguments[1], id -> new HashSet<>()).add(request.node());
        if (answer.size() == FAST_GRANT) {
          granted(arguments[1], nanos, request.node());
        } else {
          decisions(answer, nanos, request.node());
          List<?> result = list(answer.get(RESULT));
          boolean isNew = result.size() > 1 && text(result.get(1)).equals(arguments[1]);
          // Another id is that of an earlier request with the key.
          if (isNew && result.get(0).equals("g") && !grants.containsKey(arguments[1])) {
            granted(arguments[1], nanos, request.node());
          }
        }
      }
      case "SETTLE" -> {
        boolean fast = answer.size() == FAST_SETTLEMENT;
        List<?> result = fast ? answer.subList(3, answer.size()) : list(answer.get(RESULT));
        if (arguments[1].equals("settle")) {
          settledNanos.putIfAbsent(arguments[2], nanos);
        }
        if (arguments[1].equals("settle") && result.size() > DECISIONS) {
          refunds.merge(arguments[2], (Long) result.get(DECISIONS), Math::max);
        }
        if (!fast) {
          decisions(answer, nanos, request.node());
        }
      }
      case "TICKET" -> {
        for (int i = 2; i < arguments.length - 2; i++) {
          concerned.computeIfAbsent(arguments[i], id -> new HashSet<>()).add(request.node());
        }
        decisions(answer, nanos, request.node());
        if (arguments[1].equals("cancel")) {
          settledNanos.putIfAbsent(arguments[2], nanos);
        }
        if (arguments[1].equals("cancel") && list(answer.get(RESULT)).get(0).equals(1L)) {
          if (grants.containsKey(arguments[2])) {
            returned.add(arguments[2]);
          }
        }
      }
      case "REPORT" -> {
        reported(arguments, nanos);
        decisions(answer, nanos, request.node());
      }
      case "CONFIGURE", "POLL", "RESTORE_GRANTS" -> decisions(answer, nanos, request.node());
      default -> {
        // Heartbeats decide nothing.
      }
    }
  }

  private void decisions(List<Object> answer, long nanos, String node) {
    if (answer.size() > RESULT) {
      for (Object each : list(answer.get(DECISIONS))) {
        if (list(each).get(1).equals("g")) {
          granted(text(list(each).get(0)), nanos, node);
        } else {
          endedNanos.putIfAbsent(text(list(each).get(0)), nanos);
        }
      }
    }
  }

  /** Records the tickets that the share of a node has decided. */
  private void reported(String[] arguments, long nanos) {
    int at = 2;
    int ended = Integer.parseInt(arguments[at++]);
    for (int i = 0; i < ended; i++) {
      endedNanos.putIfAbsent(arguments[at++], nanos);
    }
    at += 1 + 2 * Integer.parseInt(arguments[at]);
    int grants = Integer.parseInt(arguments[at++]);
    for (int i = 0; i < grants; i++, at += ARGUMENTS_OF_GRANT) {
      endedNanos.putIfAbsent(arguments[at], nanos);
    }
  }

  private void granted(String id, long nanos, String node) {
    grants.computeIfAbsent(id, absent -> new ArrayList<>()).add(new Grant(nanos, node));
  }

  private static List<?> list(Object value) {
    return (List<?>) value;
  }

  private static String text(Object value) {
    return String.valueOf(value);
  }

  /** Returns the time at which Redis granted it last; negative if it did not. */
  long grantedNanos(String id) {
    List<Grant> all = grants.getOrDefault(id, List.of());
    return all.isEmpty() ? -1 : all.get(all.size() - 1).nanos;
  }

  /** Returns the time of the last grant by a call of a node; negative if there is none. */
  long grantedNanosBy(String node, String id) {
    return grants.getOrDefault(id, List.of()).stream()
        .filter(grant -> grant.node.equals(node))
        .mapToLong(Grant::nanos)
        .max()
        .orElse(-1);
  }

  /** Returns when a ticket left the waiting list without a grant of Redis; the maximum if never. */
  long endedNanos(String id) {
    return endedNanos.getOrDefault(id, Long.MAX_VALUE);
  }

  /** Returns when Redis settled it first; the maximum if never. */
  long settledNanos(String id) {
    return settledNanos.getOrDefault(id, Long.MAX_VALUE);
  }

  /** Returns the idempotency key under which it was asked for, or an empty text. */
  String keyOf(String id) {
    return keys.getOrDefault(id, "");
  }

  /** Returns the nodes that have asked for it. */
  Set<String> concerned(String id) {
    return concerned.getOrDefault(id, Set.of());
  }

  /** Returns whether Redis took back its grant because the caller had canceled. */
  boolean isReturned(String id) {
    return returned.contains(id);
  }

  /** Returns the tokens that Redis refunded at a settlement. */
  long refunded(String id) {
    return Math.max(0, refunds.getOrDefault(id, 0L));
  }
}
