package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.redis.simulation.Callers.Call;
import dev.sluice.governor.redis.simulation.Callers.Patience;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Whether a caller was overtaken by one that came after it had its place: of the same class and
 * tenant, or of a lower class, and that asked for no less. Redis keeps the order of all nodes, also
 * for callers that leave and move; the share of a node keeps that of its own callers.
 */
final class OrderCheck {
  /** A node learns the place of a ticket that it awaits by a call; this long it may take. */
  private static final long UNTIL_KNOWN = TimeUnit.MILLISECONDS.toNanos(3_500);

  private final List<Call> calls;
  private final WireTap tap;
  private final List<Long> lostNanos;

  OrderCheck(List<Call> calls, WireTap tap, List<Long> lostNanos) {
    this.calls = calls;
    this.tap = tap;
    this.lostNanos = lostNanos;
  }

  /** Returns what is wrong. */
  List<String> inversions() {
    List<String> inversions = new ArrayList<>();
    for (Call first : calls) {
      for (Call later : calls) {
        boolean isComparable =
            first.queuedNanos > 0
                && later.isGranted()
                && later.askedNanos > first.queuedNanos
                && isAhead(first, later);
        if (isComparable && (isOvertakenAtItsNode(first, later) || isOvertaken(first, later))) {
          inversions.add(
              "ORDER %s with %s is overtaken by %s: %s, but %s"
                  .formatted(
                      first,
                      first.ticket,
                      later,
                      later.grants.get(0),
                      first.isGranted() ? first.grants.get(0) : "nothing"));
        }
      }
    }
    return inversions;
  }

  private boolean isOvertakenAtItsNode(Call first, Call later) {
    CallerLedger.Grant grant = later.grants.get(0);
    return isPlain(first)
        && isPlain(later)
        && first.node == later.node
        && grant.decidedNanos
            < (mayBeAbandoned(first, grant) ? overInRedisNanos(first) : overNanos(first))
        && isKnown(first, grant);
  }

  /** Whether Redis served a caller of any node first, and the other one had a place in Redis. */
  private boolean isOvertaken(Call first, Call later) {
    CallerLedger.Grant grant = later.grants.get(0);
    return first.ticket != null
        && !first.isKeyed()
        && !later.isKeyed()
        && !first.queuedLocally
        && !grant.local
        && !isLostBetween(first, grant)
        && grant.decidedNanos < overInRedisNanos(first);
  }

  private static boolean isPlain(Call call) {
    return !call.isKeyed() && call.patience == Patience.AWAITS && call.nodes.size() == 1;
  }

  private static boolean isAhead(Call first, Call later) {
    int rank = GovernorPlan.CLASSES.indexOf(first.request.priorityClass());
    int other = GovernorPlan.CLASSES.indexOf(later.request.priorityClass());
    return first.request.tokens() <= later.request.tokens()
        && (rank < other
            || (rank == other && first.request.tenant().equals(later.request.tenant())));
  }

  private long overNanos(Call call) {
    long over = call.isGranted() ? call.grants.get(0).decidedNanos : call.endedNanos;
    String ticket = call.ticket;
    long inRedis = ticket == null ? -1 : tap.grantedNanos(CallerLedger.idIn(ticket));
    return inRedis < 0 ? over : Math.min(over, inRedis);
  }

  /** Returns whether Redis may have missed the polls of a node that was in an outage. */
  private boolean mayBeAbandoned(Call first, CallerLedger.Grant grant) {
    return !grant.local
        && (first.queuedLocally
            || first.node.losses().stream()
                .anyMatch(lost -> lost >= first.queuedNanos && lost <= grant.decidedNanos));
  }

  /** Redis may have given up a ticket, by its idle timeout, before its node learns of that. */
  private long overInRedisNanos(Call call) {
    String ticket = call.ticket;
    long over = overNanos(call);
    return ticket == null ? over : Math.min(over, tap.overNanos(CallerLedger.idIn(ticket)));
  }

  /** Returns whether whoever made a grant knew of a place. */
  private boolean isKnown(Call first, CallerLedger.Grant grant) {
    if (isLostBetween(first, grant)) {
      return false;
    }
    return first.queuedLocally
        || !grant.local
        || first.node.losses().stream()
            .filter(lost -> lost <= grant.decidedNanos && lost >= first.queuedNanos)
            .allMatch(lost -> first.queuedNanos < lost - UNTIL_KNOWN);
  }

  private boolean isLostBetween(Call first, CallerLedger.Grant grant) {
    return lostNanos.stream()
        .anyMatch(lost -> lost >= first.queuedNanos && lost <= grant.decidedNanos);
  }
}
