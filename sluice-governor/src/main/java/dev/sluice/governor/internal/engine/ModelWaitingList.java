package dev.sluice.governor.internal.engine;

import dev.sluice.Limit;
import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.spi.ModelLimits;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The budget of one model and its waiters: every decision is made here, over all dimensions at
 * once. It reads no clock and starts no thread. Not thread-safe.
 *
 * <p>A request that {@link #wouldHold} finds nothing to hold is granted at once; any other enters
 * the waiting list and is granted from there. Neither overtakes a waiter of its own class or above.
 * While the head of a class waits for the model, no lower class is granted; one that waits only for
 * the share of its class or for its tenant delays no other. A class with a guarantee goes before
 * all others as soon as that has accrued.
 */
public final class ModelWaitingList {
  private final ModelLimits limits;
  private final ModelBuckets buckets;
  private final DebtBucket tokens;
  private final List<PriorityClass> ranks = new ArrayList<>();
  private int waiting;
  private int running;
  private long wakeAt = Long.MAX_VALUE;
  private long pausedUntil;
  private boolean paused;
  private long advancedTo;
  private @Nullable Shortage shortage;

  /** The reason for which {@link #grantOne} stopped at the head. */
  private @Nullable Shortage found;

  /** Receives the grants, in order. */
  @FunctionalInterface
  public interface GrantHandler {
    void granted(TokenWaiter waiting, Reservation reservation);
  }

  /** Full at {@code now}. */
  public ModelWaitingList(ModelLimits limits, long now) {
    this(limits, new ModelBuckets(limits, now), now);
  }

  private ModelWaitingList(ModelLimits limits, ModelBuckets buckets, long now) {
    this.advancedTo = now;
    this.limits = limits;
    this.buckets = buckets;
    this.tokens = buckets.tokens();
    limits
        .classes()
        .forEach(each -> ranks.add(new PriorityClass(each, buckets.guarantee(each.name()))));
    setFloors();
  }

  /**
   * Returns an empty waiting list under other limits, with the same buckets and running requests.
   *
   * @throws IllegalArgumentException if they cannot be kept exactly; nothing has changed then
   */
  public ModelWaitingList successor(ModelLimits other, long now) {
    buckets.retune(other, now);
    ModelWaitingList next = new ModelWaitingList(other, buckets, now);
    next.running = running;
    next.pausedUntil = pausedUntil;
    next.paused = paused;
    next.shortage = shortage;
    return next;
  }

  private void setFloors() {
    for (PriorityClass rank : ranks) {
      long ceiling = Math.max(1, (long) (rank.limit.ceiling() * buckets.factor()));
      rank.floor = Math.max(0, tokens.capacity() - ceiling);
    }
  }

  // ---- what the provider makes of it

  /** Goes by so much of its rate and burst. */
  public void slow(double newFactor, long now) {
    advance(now);
    if (newFactor != buckets.factor()) {
      buckets.slow(newFactor);
      setFloors();
    }
  }

  /** Has no more than so many tokens. */
  public void lowerTo(long most) {
    tokens.lowerTo(most);
  }

  /** Grants nothing until then. */
  public void pause(long until) {
    if (!paused || until > pausedUntil) {
      paused = true;
      pausedUntil = until;
    }
  }

  // ---- asking

  /** The most that one request of this may ask for. */
  public long largest(TokenDemand demand) {
    long most = ranks.get(demand.rank()).limit.ceiling();
    Limit.Balanced tenant = limits.tenant(demand.tenant());
    return tenant == null ? most : Math.min(most, tenant.capacity());
  }

  /** Adds a waiter, which {@link #drain} may grant at once. */
  public TokenWaiter enter(TokenDemand demand, long now) {
    waiting++;
    return ranks.get(demand.rank()).waitingList.add(demand, now);
  }

  /** Removes a waiter; returns false if it was not there any more. */
  public boolean leave(TokenWaiter who) {
    boolean was = ranks.get(who.demand.rank()).waitingList.leave(who);
    if (was) {
      waiting--;
    }
    return was;
  }

  /** Grants whatever can go now, but no more than so many. */
  public void drain(long now, int most, ModelWaitingList.GrantHandler grants) {
    advance(now);
    wakeAt = Long.MAX_VALUE;
    int granted = 0;
    while (waiting > 0 && granted < most && grantOne(now, grants)) {
      wakeAt = Long.MAX_VALUE;
      granted++;
    }
    if (waiting > 0 && granted == most) {
      wakeAt = now;
    } else {
      noteShortage();
    }
  }

  private void noteShortage() {
    shortage = waiting == 0 || found == null ? null : found.after(shortage);
  }

  /**
   * Returns the time at which {@link #drain} should be called again; {@link Long#MAX_VALUE} for
   * never.
   */
  public long wakeAt() {
    return wakeAt;
  }

  public void advance(long now) {
    advancedTo = now;
    buckets.advance(now);
    paused = paused && pausedUntil > now;
  }

  private boolean grantOne(long now, ModelWaitingList.GrantHandler grants) {
    found = null;
    for (PriorityClass rank : ranks) {
      TokenWaiter head = rank.guarantee == null ? null : firstOf(rank, now);
      if (head != null && rank.isGuaranteed(head.demand.tokens())) {
        return tryGrant(head, 0, now, grants) == null;
      }
    }
    for (PriorityClass rank : ranks) {
      TokenWaiter head = firstOf(rank, now);
      WaitReason held = head == null ? null : tryGrant(head, rank.floor, now, grants);
      if (head != null && held == null) {
        return true;
      }
      if (held != null && held.by() != BudgetDimension.PRIORITY_CLASS) {
        break;
      }
    }
    wakeForGuarantees(now);
    return false;
  }

  /** Wakes for minimum shares, which accrue later and go before the present waiters. */
  private void wakeForGuarantees(long now) {
    for (PriorityClass rank : ranks) {
      DebtBucket guarantee = rank.guarantee;
      TokenWaiter head = guarantee == null ? null : firstOf(rank, now);
      if (guarantee != null && head != null) {
        wake(now, guarantee.nanosUntil(head.demand.tokens(), 0));
      }
    }
  }

  /** The head whose tenant can afford it. */
  private @Nullable TokenWaiter firstOf(PriorityClass rank, long now) {
    TokenWaiter head = rank.waitingList.first(now);
    while (head != null && nanosForTenant(head.demand, now) > 0) {
      rank.waitingList.setAside(head, now + nanosForTenant(head.demand, now));
      head = rank.waitingList.first(now);
    }
    // A request that returns may go before a head that waits for more.
    wakeAt = Math.min(wakeAt, rank.waitingList.nextBack());
    return head;
  }

  private long nanosForTenant(TokenDemand demand, long now) {
    DebtBucket budget = buckets.tenant(demand.tenant(), now);
    return budget == null ? 0 : budget.nanosUntil(demand.tokens(), 0);
  }

  private @Nullable WaitReason tryGrant(
      TokenWaiter head, long floor, long now, ModelWaitingList.GrantHandler grants) {
    WaitReason held = heldBy(head.demand.tokens(), floor, now);
    if (held == null) {
      waiting--;
      ranks.get(head.demand.rank()).waitingList.serve(head);
      grants.granted(head, charge(head.demand, now));
    } else {
      wake(now, held.nanos());
      found = Shortage.of(head.demand, held, now);
    }
    return held;
  }

  private void wake(long now, long nanos) {
    if (nanos != WaitReason.UNKNOWN) {
      wakeAt = Math.min(wakeAt, now + nanos);
    }
  }

  /** Returns why so many tokens cannot be granted, regardless of waiters; null if they can. */
  private @Nullable WaitReason heldBy(long wanted, long floor, long now) {
    if (paused) {
      return new WaitReason(BudgetDimension.PROVIDER, pausedUntil - now);
    }
    if (running >= limits.slots()) {
      return new WaitReason(BudgetDimension.CONCURRENCY, WaitReason.UNKNOWN);
    }
    long forTokens = nanosFor(wanted, 0);
    long forRequests = nanosForRequests(1);
    if (forTokens > 0 || forRequests > 0) {
      return forTokens >= forRequests
          ? new WaitReason(BudgetDimension.TOKENS, forTokens)
          : new WaitReason(BudgetDimension.REQUESTS, forRequests);
    }
    long forClass = nanosFor(wanted, floor);
    return forClass > 0 ? new WaitReason(BudgetDimension.PRIORITY_CLASS, forClass) : null;
  }

  /** A request that is larger than the capacity of a slowed model goes when that is full. */
  private long nanosFor(long wanted, long floor) {
    return tokens.nanosUntil(Math.min(wanted, tokens.capacity() - floor), floor);
  }

  private long nanosForRequests(long count) {
    long nanos = 0;
    for (DebtBucket each : buckets.requests()) {
      nanos = Math.max(nanos, each.nanosUntil(count, 0));
    }
    return nanos;
  }

  private Reservation charge(TokenDemand demand, long now) {
    PriorityClass rank = ranks.get(demand.rank());
    running++;
    for (DebtBucket each : buckets.requests()) {
      each.charge(1);
    }
    DebtBucket guarantee = rank.guarantee;
    // It is a minimum, not an extra: what the class gets anyway counts, as far as it goes.
    long guaranteed =
        guarantee == null ? 0 : Math.max(0, Math.min(guarantee.available(), demand.tokens()));
    return new Reservation(
        demand,
        now,
        Reservation.Charge.of(tokens, demand.tokens()),
        Reservation.Charge.of(buckets.tenant(demand.tenant(), now), demand.tokens()),
        Reservation.Charge.of(guarantee, guaranteed));
  }

  // ---- asking without a trace

  /** Returns why a request would have to wait now, after {@link #drain}; null if it would not. */
  public @Nullable WaitReason wouldHold(TokenDemand demand, long now) {
    PriorityClass own = ranks.get(demand.rank());
    long forTenant = nanosForTenant(demand, now);
    if (waiting > 0) {
      boolean first = forTenant == 0 && wouldBeFirst(own, demand, now);
      for (PriorityClass rank : ranks) {
        TokenWaiter head =
            rank.guarantee == null || (rank == own && first) ? null : firstOf(rank, now);
        if (head != null && rank.isGuaranteed(head.demand.tokens())) {
          return WaitReason.BEHIND_OTHERS;
        }
        if (rank == own && first && own.isGuaranteed(demand.tokens())) {
          return heldBy(demand.tokens(), 0, now);
        }
      }
      if (isHeldUp(own, now) || (forTenant == 0 && !first)) {
        return WaitReason.BEHIND_OTHERS;
      }
    } else if (forTenant == 0 && own.isGuaranteed(demand.tokens())) {
      return heldBy(demand.tokens(), 0, now);
    }
    return forTenant > 0
        ? new WaitReason(BudgetDimension.TENANT, forTenant)
        : heldBy(demand.tokens(), own.floor, now);
  }

  private boolean wouldBeFirst(PriorityClass rank, TokenDemand demand, long now) {
    firstOf(rank, now);
    return rank.waitingList.wouldBeFirst(rank.waitingList.imagine(demand, now), now);
  }

  /** Returns whether a waiter of a class above waits for the model. */
  private boolean isHeldUp(PriorityClass own, long now) {
    for (PriorityClass rank : ranks) {
      if (rank == own) {
        return false;
      }
      TokenWaiter head = firstOf(rank, now);
      WaitReason held = head == null ? null : heldBy(head.demand.tokens(), rank.floor, now);
      if (head != null && (held == null || held.by() != BudgetDimension.PRIORITY_CLASS)) {
        return true;
      }
    }
    return false;
  }

  /** Grants what {@link #wouldHold} has nothing against. */
  Reservation grantNow(TokenDemand demand, long now) {
    if (waiting > 0) {
      // Its tenant's next turn is later by this.
      ClassWaitingList waitingList = ranks.get(demand.rank()).waitingList;
      waitingList.serve(waitingList.add(demand, now));
    }
    return charge(demand, now);
  }

  // ---- what becomes of a reservation

  /** Settles it by what was reported as used, as far as that can be charged. */
  public long settle(Reservation reservation, long reported) {
    long most = limits.maxChargedTokens();
    return finish(
        reservation, buckets.overruns().charge(reservation.demand.tokens(), reported, most));
  }

  /** Settles it by what was charged for it before a restart. */
  public long settleAgain(Reservation reservation, long usage) {
    long reserved = reservation.demand.tokens();
    buckets
        .overruns()
        .spend(reserved, Math.min(usage, Math.max(reserved, limits.maxChargedTokens())));
    return finish(reservation, usage);
  }

  private long finish(Reservation reservation, long usage) {
    close(reservation);
    // The debt of the tenant now, not at the last look.
    buckets.tenant(reservation.demand.tenant(), advancedTo);
    long back = reservation.settle(usage);
    if (waiting > 0 && limits.tenant(reservation.demand.tenant()) != null) {
      ranks.forEach(rank -> rank.waitingList.recall(reservation.demand.tenant()));
    }
    return back;
  }

  /** Frees its slot, and leaves its tokens charged: the usage is unknown. */
  public void abandon(Reservation reservation) {
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

  /** Returns all waiters in order, class by class. */
  public List<TokenWaiter> inOrder() {
    List<TokenWaiter> all = new ArrayList<>(waiting);
    ranks.forEach(rank -> all.addAll(rank.waitingList.inOrder()));
    return all;
  }

  public int waiting() {
    return waiting;
  }

  int waiting(int rank) {
    return ranks.get(rank).waitingList.size();
  }

  public int running() {
    return running;
  }

  public long available() {
    return tokens.available();
  }

  /**
   * Returns the shortage that {@link #drain} found; null if the model's own budget can serve the
   * head.
   */
  @Nullable Shortage shortage() {
    return shortage;
  }

  /** Returns the time until the provider's pause is over; 0 if there is none. */
  long pauseNanos(long now) {
    return paused ? pausedUntil - now : 0;
  }

  PriorityClass rank(int rank) {
    return ranks.get(rank);
  }

  ModelLimits limits() {
    return limits;
  }

  public ModelBuckets buckets() {
    return buckets;
  }

  // ---- over a restart

  /** Something was granted before, and is not settled. */
  public void resume() {
    running++;
  }

  /** Grants what was granted then. */
  public Reservation replay(TokenDemand demand, long then) {
    advance(then);
    return charge(demand, then);
  }
}
