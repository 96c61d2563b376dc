package dev.sluice.redis.simulation;

import dev.sluice.redis.link.FleetConnection;
import dev.sluice.redis.link.FleetView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * For which nodes Redis cannot be expected to reserve a share, by the documented rule: those that
 * it did not hear for 11.5 s in which it heard others, those that it never heard, and all of them
 * when it lost its data. What these grant by themselves is the documented excess.
 */
final class Memberships {
  private static final long PRESENCE_NANOS = 1_500_000_000L;
  private static final long MEMBERSHIP_NANOS = 11_500_000_000L;
  private static final int NAME = 0;
  private static final int WHAT = 1;

  private final Map<String, Long> heard = new HashMap<>();

  /** Nodes without a reserved share, and the answers that end it once one is received. */
  private final Map<String, List<List<Object>>> unreserved = new HashMap<>();

  private long lastNanos;

  /** Time in which Redis heard somebody. */
  private long livelyNanos;

  /** Takes in that a heartbeat ran. */
  void ran(Request request, @Nullable List<Object> answer, long nanos) {
    if (request.script() != FleetConnection.HEARTBEAT || answer == null) {
      return;
    }
    long gap = nanos - lastNanos;
    livelyNanos += gap > PRESENCE_NANOS ? 0 : gap;
    lastNanos = nanos;
    heard.forEach(
        (node, at) -> {
          if (livelyNanos - at >= MEMBERSHIP_NANOS) {
            unreserved.computeIfAbsent(node, absent -> new ArrayList<>());
          }
        });
    String what = request.arguments()[WHAT];
    String node = request.arguments()[NAME];
    if ((what.equals("stay") || what.equals("return")) && number(answer, 0) == 0) {
      heard.put(node, livelyNanos);
      List<List<Object>> answers = unreserved.get(node);
      if (answers != null) {
        answers.add(answer);
      }
    }
  }

  /** Takes in that Redis lost data. */
  void lost() {
    heard.keySet().forEach(node -> unreserved.put(node, new ArrayList<>()));
  }

  /** Returns whether Redis need not have a share reserved for a node. */
  boolean isUnreserved(SimulatedNode node) {
    List<List<Object>> answers = unreserved.get(node.name());
    FleetView view = node.connection().view();
    if (answers != null && view != null && answers.stream().anyMatch(each -> isOf(view, each))) {
      unreserved.remove(node.name());
      return false;
    }
    return answers != null || view == null;
  }

  private static boolean isOf(FleetView view, List<Object> answer) {
    return view.validUntilMicros() == number(answer, 2) && view.share() == number(answer, 3);
  }

  private static long number(List<Object> answer, int index) {
    return (Long) answer.get(index);
  }
}
