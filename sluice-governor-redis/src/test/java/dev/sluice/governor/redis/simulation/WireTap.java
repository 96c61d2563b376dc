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
 * Reads the decisions of Redis from its replies: its grants, the nodes that it told, and its
 * refunds. Shares no code with the classes that it checks.
 */
final class WireTap {
  private static final int QUICK_GRANT = 4;
  private static final int QUICK_SETTLEMENT = 9;
  private static final int NEWS = 3;
  private static final int RESULT = 4;
  private static final int KEY = 8;
  private static final int WORDS_OF_GRANT = 8;

  private final Map<String, List<Grant>> grants = new HashMap<>();
  private final Map<String, Set<String>> concerned = new HashMap<>();
  private final Map<String, Long> refunds = new HashMap<>();
  private final Map<String, Long> settledNanos = new HashMap<>();
  private final Set<String> givenBack = new HashSet<>();
  private final Map<String, Long> overNanos = new HashMap<>();
  private final Map<String, String> keys = new HashMap<>();

  /**
   * A grant that Redis made.
   *
   * @param nanos when
   * @param node whose call it was
   */
  record Grant(long nanos, String node) {}

  /** Takes in an answer. */
  void ran(Request request, @Nullable List<Object> answer, long nanos) {
    if (answer == null || answer.size() <= 1) {
      return;
    }
    String[] words = request.arguments();
    switch (String.valueOf(request.script())) {
      case "REQUEST" -> {
        keys.put(words[1], words[KEY]);
        concerned.computeIfAbsent(words[1], id -> new HashSet<>()).add(request.node());
        if (answer.size() == QUICK_GRANT) {
          granted(words[1], nanos, request.node());
        } else {
          news(answer, nanos, request.node());
          List<?> result = list(answer.get(RESULT));
          boolean isNew = result.size() > 1 && text(result.get(1)).equals(words[1]);
          // Under another id it is what the key has found.
          if (isNew && result.get(0).equals("g") && !grants.containsKey(words[1])) {
            granted(words[1], nanos, request.node());
          }
        }
      }
      case "SETTLE" -> {
        boolean quick = answer.size() == QUICK_SETTLEMENT;
        List<?> result = quick ? answer.subList(3, answer.size()) : list(answer.get(RESULT));
        if (words[1].equals("settle")) {
          settledNanos.putIfAbsent(words[2], nanos);
        }
        if (words[1].equals("settle") && result.size() > NEWS) {
          refunds.merge(words[2], (Long) result.get(NEWS), Math::max);
        }
        if (!quick) {
          news(answer, nanos, request.node());
        }
      }
      case "TICKET" -> {
        for (int i = 2; i < words.length - 2; i++) {
          concerned.computeIfAbsent(words[i], id -> new HashSet<>()).add(request.node());
        }
        news(answer, nanos, request.node());
        if (words[1].equals("cancel")) {
          settledNanos.putIfAbsent(words[2], nanos);
        }
        if (words[1].equals("cancel") && list(answer.get(RESULT)).get(0).equals(1L)) {
          if (grants.containsKey(words[2])) {
            givenBack.add(words[2]);
          }
        }
      }
      case "REPORT" -> {
        reported(words, nanos);
        news(answer, nanos, request.node());
      }
      case "CONFIGURE", "POLL", "RESTORE_GRANTS" -> news(answer, nanos, request.node());
      default -> {
        // Heartbeats decide nothing.
      }
    }
  }

  private void news(List<Object> answer, long nanos, String node) {
    if (answer.size() > RESULT) {
      for (Object each : list(answer.get(NEWS))) {
        if (list(each).get(1).equals("g")) {
          granted(text(list(each).get(0)), nanos, node);
        } else {
          overNanos.putIfAbsent(text(list(each).get(0)), nanos);
        }
      }
    }
  }

  /** A node tells which tickets its share has decided. */
  private void reported(String[] words, long nanos) {
    int at = 2;
    int over = Integer.parseInt(words[at++]);
    for (int i = 0; i < over; i++) {
      overNanos.putIfAbsent(words[at++], nanos);
    }
    at += 1 + 2 * Integer.parseInt(words[at]);
    int grants = Integer.parseInt(words[at++]);
    for (int i = 0; i < grants; i++, at += WORDS_OF_GRANT) {
      overNanos.putIfAbsent(words[at], nanos);
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

  /** Returns when Redis granted it last; negative if it did not. */
  long grantedNanos(String id) {
    List<Grant> all = grants.getOrDefault(id, List.of());
    return all.isEmpty() ? -1 : all.get(all.size() - 1).nanos;
  }

  /** Returns when a call of a node had Redis grant it last; negative if none did. */
  long grantedNanosBy(String node, String id) {
    return grants.getOrDefault(id, List.of()).stream()
        .filter(grant -> grant.node.equals(node))
        .mapToLong(Grant::nanos)
        .max()
        .orElse(-1);
  }

  /** Returns when a ticket left the line without a grant of Redis; later than any time if not. */
  long overNanos(String id) {
    return overNanos.getOrDefault(id, Long.MAX_VALUE);
  }

  /** Returns when Redis settled it first; later than any time if it did not. */
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

  /** Returns whether Redis took back what it had granted, because the caller had cancelled. */
  boolean isGivenBack(String id) {
    return givenBack.contains(id);
  }

  /** Returns how many tokens Redis gave back at a settlement. */
  long refunded(String id) {
    return Math.max(0, refunds.getOrDefault(id, 0L));
  }
}
