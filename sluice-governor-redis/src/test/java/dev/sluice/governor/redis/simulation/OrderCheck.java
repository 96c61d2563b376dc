package dev.sluice.governor.redis.simulation;

import dev.sluice.governor.redis.simulation.Callers.Behavior;
import dev.sluice.governor.redis.simulation.Callers.Call;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Finds callers that were overtaken by a later one: of the same class and tenant, or of a lower
 * class, and with no smaller request. Redis keeps the order of all nodes, also for callers that
 * leave and move; the share of a node keeps that of its own callers.
 */
final class OrderCheck {
  /** The longest time until a node knows the place of a ticket that it awaits. */
  private static final long UNTIL_KNOWN = TimeUnit.MILLISECONDS.toNanos(3_500);

  private final List<Call> calls;
  private final RedisDecisions redis;
  private final List<Long> lostNanos;

  OrderCheck(List<Call> calls, RedisDecisions redis, List<Long> lostNanos) {
    this.calls = calls;
    this.redis = redis;
    this.lostNanos = lostNanos;
  }

  /** Returns the inversions. */
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
            < (mayBeAbandoned(first, grant) ? endedInRedisNanos(first) : endedNanos(first))
        && isKnown(first, grant);
  }

  /** Returns whether Redis granted a later caller of any node before one with a place in Redis. */
  private boolean isOvertaken(Call first, Call later) {
    CallerLedger.Grant grant = later.grants.get(0);
    return first.ticket != null
        && !first.isKeyed()
        && !later.isKeyed()
        && !first.queuedLocally
        && !grant.local
        && !isLostBetween(first, grant)
        && grant.decidedNanos < endedInRedisNanos(first);
  }

  private static boolean isPlain(Call call) {
    return !call.isKeyed() && call.behavior == Behavior.AWAITS && call.nodes.size() == 1;
  }

  private static boolean isAhead(Call first, Call later) {
    int index = GovernorPlan.CLASSES.indexOf(first.request.priorityClass());
    int other = GovernorPlan.CLASSES.indexOf(later.request.priorityClass());
    return first.request.tokens() <= later.request.tokens()
        && (index < other
            || (index == other && first.request.tenant().equals(later.request.tenant())));
  }

  private long endedNanos(Call call) {
    long ended = call.isGranted() ? call.grants.get(0).decidedNanos : call.endedNanos;
    String ticket = call.ticket;
    long inRedis = ticket == null ? -1 : redis.grantedNanos(CallerLedger.idIn(ticket));
    return inRedis < 0 ? ended : Math.min(ended, inRedis);
  }

  /** Returns whether Redis may have missed the polls of a node that was in an outage. */
  private boolean mayBeAbandoned(Call first, CallerLedger.Grant grant) {
    return !grant.local
        && (first.queuedLocally
            || first.node.losses().stream()
                .anyMatch(lost -> lost >= first.queuedNanos && lost <= grant.decidedNanos));
  }

  /**
   * Returns the time at which a ticket ended in Redis, which may abandon it before its node knows.
   */
  private long endedInRedisNanos(Call call) {
    String ticket = call.ticket;
    long ended = endedNanos(call);
    return ticket == null ? ended : Math.min(ended, redis.endedNanos(CallerLedger.idIn(ticket)));
  }

  /** Returns whether the decider of a grant knew a place. */
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
