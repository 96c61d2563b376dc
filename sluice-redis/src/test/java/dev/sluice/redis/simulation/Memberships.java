package dev.sluice.redis.simulation;

import dev.sluice.redis.internal.connection.FleetConnection;
import dev.sluice.redis.internal.connection.MembersView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * For which nodes Redis cannot be expected to reserve a share, by the documented rule: those that
 * it did not hear for 11.5 s in which it heard others, and those that it never heard. One that only
 * asks is heard, too. When Redis lost its data, it learns of the shares from the first member that
 * it hears again; until then, if that member did not know all, and if it came later than 1.5 s
 * after the first heartbeat, it reserves none. The grants of unreserved nodes are the documented
 * excess.
 */
public final class Memberships {
  private static final long PRESENCE_NANOS = 1_500_000_000L;
  private static final long MEMBERSHIP_NANOS = 11_500_000_000L;
  private static final int NAME = 0;
  private static final int WHAT = 1;
  private static final int EPOCH = 8;
  private static final int SHARES_OF_ALL = 10;
  private static final int ANSWERED_NOW = 1;
  private static final int ANSWERED_EPOCH = 8;

  private final Map<String, Long> heard = new HashMap<>();

  /** Nodes without a reserved share, and the answers that end it once one is received. */
  private final Map<String, List<List<Object>>> unreserved = new HashMap<>();

  /** Nodes whose shares Redis forgot, until it hears of them. */
  private final Set<String> forgotten = new HashSet<>();

  private long lastNanos;

  /** Time in which Redis heard somebody. */
  private long livelyNanos;

  /**
   * Takes in that a heartbeat ran.
   *
   * @param shares of a node that is named
   */
  public void ran(
      Request request, @Nullable List<Object> answer, long nanos, ToIntFunction<String> shares) {
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
    hearOfForgotten(request.arguments(), answer, shares);
    String what = request.arguments()[WHAT];
    String node = request.arguments()[NAME];
    if (what.equals("look") && !unreserved.containsKey(node)) {
      heard.computeIfPresent(node, (same, before) -> livelyNanos);
    }
    if ((what.equals("stay") || what.equals("return")) && number(answer, 0) == 0) {
      boolean isNew = heard.put(node, livelyNanos) == null;
      List<List<Object>> answers = unreserved.get(node);
      if (isNew && !forgotten.isEmpty()) {
        // Redis does not know yet of whom it has given the share away.
        unreserved.put(node, new ArrayList<>());
      } else if (answers != null && forgotten.isEmpty()) {
        answers.add(answer);
      }
    }
  }

  /** Only a node that was a member before the loss can tell which shares were held then. */
  private void hearOfForgotten(
      String[] heartbeat, List<Object> answer, ToIntFunction<String> shares) {
    long known = Long.parseLong(heartbeat[EPOCH]);
    long epoch = number(answer, ANSWERED_EPOCH);
    if (!forgotten.isEmpty() && known != 0 && known != epoch) {
      boolean isInTime = number(answer, ANSWERED_NOW) - epoch < PRESENCE_NANOS / 1_000;
      if (isInTime
          && Long.parseLong(heartbeat[SHARES_OF_ALL])
              >= forgotten.stream().mapToInt(shares).sum()) {
        forgotten.forEach(unreserved::remove);
      }
      forgotten.clear();
    }
  }

  /** Takes in that Redis went back to earlier data, in which members may be missing. */
  public void wentBack() {
    heard.keySet().forEach(node -> unreserved.put(node, new ArrayList<>()));
    forgotten.clear();
  }

  /** Takes in that Redis lost all data. */
  public void lost() {
    heard.keySet().stream()
        .filter(node -> unreserved.putIfAbsent(node, new ArrayList<>()) == null)
        .forEach(forgotten::add);
  }

  /** Returns whether Redis need not have a share reserved for a node. */
  public boolean isUnreserved(SimulatedMember node) {
    List<List<Object>> answers = unreserved.get(node.name());
    MembersView view = node.connection().view();
    if (answers != null && view != null && answers.stream().anyMatch(each -> isOf(view, each))) {
      unreserved.remove(node.name());
      return false;
    }
    return answers != null || view == null;
  }

  private static boolean isOf(MembersView view, List<Object> answer) {
    return view.validUntilMicros() == number(answer, 2) && view.share() == number(answer, 3);
  }

  private static long number(List<Object> answer, int index) {
    return (Long) answer.get(index);
  }
}
