package dev.sluice.governor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The budget of one model and those who wait for it: every decision is made here, over all
 * dimensions at once. It reads no clock and starts no thread. Not thread-safe.
 *
 * <p>Whoever asks stands in line first and is granted from there, so that nobody overtakes anybody
 * of their own class or above. While the head of a class waits for the model, no lower class is
 * granted; one that waits only for the share of its class or for its tenant holds up nobody. A
 * class with a guarantee goes before all others as soon as that has accrued.
 */
final class ModelLine {
  private final ModelLimits limits;
  private final Meter tokens;
  private final List<Meter> requests;
  private final List<Rank> ranks = new ArrayList<>();
  private final Map<String, Meter> tenants = new HashMap<>();
  private int waiting;
  private int running;
  private long wakeAt = Long.MAX_VALUE;

  /** A class, with what is kept for those above it. */
  private static final class Rank {
    final ClassLine line = new ClassLine();
    final long floor;
    final @Nullable Meter guarantee;

    Rank(long floor, @Nullable Meter guarantee) {
      this.floor = floor;
      this.guarantee = guarantee;
    }
  }

  /** Is told who was granted, in order. */
  @FunctionalInterface
  interface Grants {
    void granted(Waiting waiting, Reservation reservation);
  }

  ModelLine(ModelLimits limits, long now) {
    this.limits = limits;
    this.tokens = limits.tokens().meter(now);
    this.requests = limits.requests().stream().map(rate -> rate.meter(now)).toList();
    for (ModelLimits.ClassLimit each : limits.classes()) {
      ranks.add(
          new Rank(
              tokens.capacity() - each.ceiling(),
              each.guarantee() == null ? null : each.guarantee().meter(now)));
    }
  }

  // ---- asking

  /** The most that one request of this may ask for. */
  long largest(Demand demand) {
    long most = tokens.capacity() - ranks.get(demand.rank()).floor;
    ModelLimits.Rate tenant = limits.tenant(demand.tenant());
    return tenant == null ? most : Math.min(most, tenant.capacity());
  }

  /** In line; it may be granted at once, by {@link #drain}. */
  Waiting enter(Demand demand, long now) {
    waiting++;
    return ranks.get(demand.rank()).line.add(demand, now);
  }

  /** Leaves the line. False if it was not there any more. */
  boolean leave(Waiting who) {
    boolean was = ranks.get(who.demand.rank()).line.remove(who);
    if (was) {
      waiting--;
    }
    return was;
  }

  /** Grants whatever can go now. */
  void drain(long now, Grants grants) {
    advance(now);
    wakeAt = Long.MAX_VALUE;
    while (waiting > 0 && grantOne(now, grants)) {
      wakeAt = Long.MAX_VALUE;
    }
  }

  /** When {@link #drain} should be called again; never for the most distant instant. */
  long wakeAt() {
    return wakeAt;
  }

  boolean advance(long now) {
    requests.forEach(meter -> meter.advance(now));
    for (Rank rank : ranks) {
      if (rank.guarantee != null) {
        rank.guarantee.advance(now);
      }
    }
    return tokens.advance(now);
  }

  private boolean grantOne(long now, Grants grants) {
    for (Rank rank : ranks) {
      Meter guarantee = rank.guarantee;
      Waiting head = guarantee == null ? null : firstOf(rank, now);
      if (guarantee != null && head != null && guarantee.has(head.demand.tokens(), 0)) {
        return tryGrant(head, 0, now, grants) == null;
      }
    }
    for (Rank rank : ranks) {
      Waiting head = firstOf(rank, now);
      Held held = head == null ? null : tryGrant(head, rank.floor, now, grants);
      if (head != null && held == null) {
        return true;
      }
      if (held != null && held.by() != Dimension.CLASS) {
        wakeForGuarantees(now);
        return false;
      }
    }
    return false;
  }

  /** A guarantee that accrues later goes before whoever waits now. */
  private void wakeForGuarantees(long now) {
    for (Rank rank : ranks) {
      Meter guarantee = rank.guarantee;
      Waiting head = guarantee == null ? null : firstOf(rank, now);
      if (guarantee != null && head != null) {
        wake(now, guarantee.nanosUntil(head.demand.tokens(), 0));
      }
    }
  }

  /** The head whose tenant can afford it. */
  private @Nullable Waiting firstOf(Rank rank, long now) {
    for (Waiting head = rank.line.first(now); head != null; head = rank.line.first(now)) {
      Meter budget = tenant(head.demand.tenant(), now);
      long nanos = budget == null ? 0 : budget.nanosUntil(head.demand.tokens(), 0);
      if (nanos == 0) {
        return head;
      }
      rank.line.stepAside(head, now + nanos);
    }
    long back = rank.line.nextBack();
    wakeAt = Math.min(wakeAt, back);
    return null;
  }

  private @Nullable Held tryGrant(Waiting head, long floor, long now, Grants grants) {
    Held held = heldBy(head.demand.tokens(), floor);
    if (held == null) {
      waiting--;
      ranks.get(head.demand.rank()).line.serve(head);
      grants.granted(head, charge(head.demand, now));
    } else {
      wake(now, held.nanos());
    }
    return held;
  }

  private void wake(long now, long nanos) {
    if (nanos != Held.UNKNOWN) {
      wakeAt = Math.min(wakeAt, now + nanos);
    }
  }

  /** What keeps so many tokens from being granted, whoever is in line; null if nothing does. */
  private @Nullable Held heldBy(long wanted, long floor) {
    if (limits.concurrency() > 0 && running >= limits.concurrency()) {
      return new Held(Dimension.CONCURRENCY, Held.UNKNOWN);
    }
    long forTokens = tokens.nanosUntil(wanted, 0);
    long forRequests = nanosUntilRequests(1);
    if (forTokens > 0 || forRequests > 0) {
      return forTokens >= forRequests
          ? new Held(Dimension.TOKENS, forTokens)
          : new Held(Dimension.REQUESTS, forRequests);
    }
    long forClass = tokens.nanosUntil(wanted, floor);
    return forClass > 0 ? new Held(Dimension.CLASS, forClass) : null;
  }

  private long nanosUntilRequests(long count) {
    return requests.stream().mapToLong(meter -> meter.nanosUntil(count, 0)).max().orElse(0);
  }

  private Reservation charge(Demand demand, long now) {
    Rank rank = ranks.get(demand.rank());
    running++;
    requests.forEach(meter -> meter.charge(1));
    Meter guarantee = rank.guarantee;
    // It is a minimum, not an extra: what the class gets anyway counts, as far as it goes.
    long guaranteed =
        guarantee == null ? 0 : Math.max(0, Math.min(guarantee.available(), demand.tokens()));
    return new Reservation(
        demand,
        now,
        Reservation.Charge.of(tokens, demand.tokens()),
        Reservation.Charge.of(tenant(demand.tenant(), now), demand.tokens()),
        Reservation.Charge.of(guarantee, guaranteed));
  }

  private @Nullable Meter tenant(String name, long now) {
    ModelLimits.Rate rate = limits.tenant(name);
    if (rate == null) {
      return null;
    }
    Meter meter = tenants.computeIfAbsent(name, unused -> rate.meter(now));
    meter.advance(now);
    return meter;
  }

  // ---- what becomes of a reservation

  /** Settles it by what was used. */
  long settle(Reservation reservation, long actual) {
    close(reservation);
    return reservation.settle(actual);
  }

  /** Frees its slot, and leaves its tokens charged: nobody knows what was used. */
  void abandon(Reservation reservation) {
    close(reservation);
  }

  private void close(Reservation reservation) {
    if (!reservation.open) {
      throw new IllegalStateException("a reservation must be settled once");
    }
    reservation.open = false;
    running--;
  }

  // ---- how it stands

  /** What this alone would have to wait for if the line were empty; null for nothing. */
  @Nullable Held alone(Demand demand, long now) {
    Meter budget = tenant(demand.tenant(), now);
    long forTenant = budget == null ? 0 : budget.nanosUntil(demand.tokens(), 0);
    Held held = heldBy(demand.tokens(), ranks.get(demand.rank()).floor);
    if (forTenant > 0 && (held == null || forTenant > held.nanos())) {
      return new Held(Dimension.TENANT, forTenant);
    }
    return held;
  }

  /**
   * A place in line.
   *
   * @param position from 1, over all classes
   * @param nanos until its turn, if nothing changes
   */
  record Place(int position, long nanos) {}

  Place place(Waiting who) {
    int before = 0;
    long tokensBefore = 0;
    int rank = who.demand.rank();
    for (int above = 0; above < rank; above++) {
      before += ranks.get(above).line.size();
      tokensBefore += ranks.get(above).line.tokens();
    }
    ClassLine.Ahead ahead = ranks.get(rank).line.ahead(who);
    int count = before + ahead.count();
    long all = tokensBefore + ahead.tokens() + who.demand.tokens();
    long nanos = tokens.nanosUntil(all, ranks.get(rank).floor);
    return new Place(count + 1, Math.max(nanos, nanosUntilRequests(count + 1L)));
  }

  int waiting() {
    return waiting;
  }

  int waiting(int rank) {
    return ranks.get(rank).line.size();
  }

  int running() {
    return running;
  }

  long available() {
    return tokens.available();
  }

  Meter tokens() {
    return tokens;
  }
}
