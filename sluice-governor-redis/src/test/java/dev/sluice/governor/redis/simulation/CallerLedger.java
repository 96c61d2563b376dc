package dev.sluice.governor.redis.simulation;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Records the grants of callers with the real times at which they were decided and settled, and
 * finds windows with too many tokens. Shares no code with the classes that it checks.
 */
final class CallerLedger {
  private final List<Grant> grants = new ArrayList<>();
  private final Map<String, Grant> byId = new HashMap<>();

  /** A grant that a caller received. */
  static final class Grant {
    final String id;
    final String reservation;
    final GovernorNode node;
    final long tokens;

    /** Whether the share of the node decided. */
    final boolean local;

    /** Whether Redis need not have reserved that share. */
    final boolean unreserved;

    final long decidedNanos;
    final long deliveredNanos;

    /** The time at which the caller settled it. */
    long closedNanos = Long.MAX_VALUE;

    /** The node at which the caller settled it. */
    @Nullable GovernorNode closedAt;

    /** The refund that the caller received. */
    long reportedRefund;

    /** The final refund. */
    long refunded;

    /** The most calls that its node may have open, by its share. */
    int slotsOfNode;

    /** The part of the budget that was its node's, if its share decided. */
    double share;

    /**
     * Whether its caller had canceled the ticket, and so returned the grant, before the delivery.
     */
    boolean isCanceled;

    /** Whether its ticket was granted before, at another node: Redis has one slot for both. */
    boolean isSecond;

    /** Whether its caller asks for it again under its key, and settles it afterwards. */
    boolean askedAgain;

    Grant(
        String reservation,
        GovernorNode node,
        long tokens,
        Origin origin,
        long decidedNanos,
        long deliveredNanos) {
      this.id = idIn(reservation);
      this.reservation = reservation;
      this.node = node;
      this.tokens = tokens;
      this.local = origin != Origin.REDIS;
      this.unreserved = origin == Origin.UNRESERVED_SHARE;
      this.decidedNanos = decidedNanos;
      this.deliveredNanos = deliveredNanos;
    }

    boolean isOpenAt(long nanos) {
      return decidedNanos <= nanos && closedNanos > nanos;
    }

    boolean isAskedFor() {
      return askedAgain && node.isAlive();
    }

    @Override
    public String toString() {
      return "%s by %s at %.3f s%s"
          .formatted(
              id,
              local ? node : "Redis for " + node,
              decidedNanos / 1e9,
              closedAt == null
                  ? ""
                  : " (settled at %s at %.3f s)".formatted(closedAt, closedNanos / 1e9));
    }

    /** Returns the tokens less refunds, as counted by a fast clock. */
    double charged() {
      double speed = local ? Math.max(1, node.speed()) : 1;
      return (tokens - refunded) / speed;
    }
  }

  /** The origin of a grant. */
  enum Origin {
    REDIS,
    SHARE,
    UNRESERVED_SHARE
  }

  /** The part of a ticket or reservation that both have in common. */
  static String idIn(String name) {
    return name.substring(name.indexOf('-') + 1);
  }

  /** Returns the last grant with a name. */
  @Nullable Grant find(String reservation) {
    return byId.get(idIn(reservation));
  }

  void add(Grant grant) {
    grants.add(grant);
    byId.put(grant.id, grant);
  }

  List<Grant> all() {
    return grants.stream()
        .sorted(Comparator.comparingLong((Grant each) -> each.decidedNanos))
        .toList();
  }

  /** The window with the most tokens above {@code burst + rate * length}. */
  record Worst(double excess, long fromNanos, long toNanos) {}

  /** Returns the worst of all windows. */
  Worst worstWindow(double burst, double perNano) {
    return worstWindow(all().stream().filter(grant -> !grant.unreserved).toList(), burst, perNano);
  }

  /**
   * Returns the worst window of the grants that a node made beyond its share when Redis had not
   * reserved that.
   */
  Worst worstUnreserved(GovernorNode node, double burst, double perNano) {
    List<Grant> own = all().stream().filter(each -> each.unreserved && each.node == node).toList();
    double share = own.stream().mapToDouble(each -> each.share).max().orElse(0);
    return worstWindow(own, burst * share, perNano * share);
  }

  private static Worst worstWindow(List<Grant> sorted, double burst, double perNano) {
    double sum = 0;
    double least = Double.POSITIVE_INFINITY;
    long start = 0;
    Worst worst = new Worst(Double.NEGATIVE_INFINITY, 0, 0);
    for (Grant grant : sorted) {
      double before = sum - perNano * grant.decidedNanos;
      if (before < least) {
        least = before;
        start = grant.decidedNanos;
      }
      sum += grant.charged();
      double excess = sum - perNano * grant.decidedNanos - least - burst;
      if (excess > worst.excess) {
        worst = new Worst(excess, start, grant.decidedNanos);
      }
    }
    return worst;
  }

  /** Describes the grants of a window. */
  List<String> between(Worst window) {
    return all().stream()
        .filter(grant -> grant.decidedNanos >= window.fromNanos)
        .filter(grant -> grant.decidedNanos <= window.toNanos && !grant.unreserved)
        .map(grant -> "%.1f of %s".formatted(grant.charged(), grant))
        .toList();
  }

  /** Returns the tokens that were granted in a time. */
  double between(long fromNanos, long toNanos) {
    return grants.stream()
        .filter(grant -> grant.decidedNanos >= fromNanos && grant.decidedNanos < toNanos)
        .mapToDouble(grant -> grant.tokens)
        .sum();
  }

  /** A moment at which more reservations were open than allowed. */
  record Crowd(Grant last, List<Grant> open, int allowed) {}

  /**
   * Returns the moments at which a grant of Redis made more open than {@code limit}, or a grant of
   * a share more at its node than the share has slots. Between two grants nothing can become more.
   *
   * @param lostNanos times at which Redis lost its data: earlier grants may be forgotten if their
   *     node does not restore them
   */
  List<Crowd> crowds(int limit, List<Long> lostNanos) {
    List<Crowd> crowds = new ArrayList<>();
    List<Grant> sorted = all();
    List<Grant> open = new ArrayList<>();
    for (Grant grant : sorted) {
      long now = grant.decidedNanos;
      open.removeIf(each -> !each.isOpenAt(now));
      open.add(grant);
      if (grant.unreserved) {
        continue;
      }
      List<Grant> counted =
          open.stream()
              .filter(
                  each ->
                      grant.local
                          ? each.node == grant.node && each.deliveredNanos <= now
                          : !each.isSecond && !mayBeUnknown(each, now, lostNanos))
              .toList();
      int most = grant.local ? grant.slotsOfNode : limit;
      if (counted.size() > most) {
        crowds.add(new Crowd(grant, counted, most));
      }
    }
    return crowds;
  }

  /**
   * Returns whether Redis need not have a grant: its share is not reserved any more, or Redis has
   * lost it.
   */
  private static boolean mayBeUnknown(Grant grant, long now, List<Long> lostNanos) {
    return (grant.local && (grant.unreserved || grant.node.wasUnreservedAt(now)))
        || lostNanos.stream().anyMatch(lost -> grant.decidedNanos <= lost && lost <= now);
  }
}
