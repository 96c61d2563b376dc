package dev.sluice.governor.internal.engine;

import dev.sluice.governor.BudgetDimension;
import dev.sluice.governor.TokenExplanation;
import dev.sluice.governor.spi.ModelLimits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Forecasts when the waiters of a model can be granted, and names what they wait for. Changes
 * nothing. Not thread-safe.
 */
public final class Forecaster {
  /*
   * Rule. Each dimension says by itself when it lets a request go that comes after all those before
   * it: tokens and requests add up what they take, the tenant's budget what the same tenant takes.
   * The latest of these is the forecast: exact for the first waiter and wherever one dimension
   * holds all waiters, else the earliest that is possible in this order. A slot is free when a call
   * is settled, at a time that is unknown: without a free slot for the request and for all those
   * before it there is no forecast, whatever the other dimensions say. placeOf in forecast.lua
   * is the same rule.
   */
  private final ModelWaitingList waitingList;
  private final ModelLimits limits;
  private final ModelBuckets buckets;
  private final DebtBucket tokens;
  private final long now;

  /** Creates a forecaster for one moment, to which the waiting list has been advanced. */
  public Forecaster(ModelWaitingList waitingList, long now) {
    this.waitingList = waitingList;
    this.limits = waitingList.limits();
    this.buckets = waitingList.buckets();
    this.tokens = buckets.tokens();
    this.now = now;
  }

  /**
   * The requests that go before one.
   *
   * @param count requests
   * @param tokens what they take
   * @param ofClass what those of its own class take
   * @param ofTenant what those of its own tenant take
   */
  private record QueueAhead(int count, long tokens, long ofClass, long ofTenant) {
    static final Forecaster.QueueAhead NOTHING = new Forecaster.QueueAhead(0, 0, 0, 0);
  }

  /** Returns the forecast of a request that would arrive now. */
  public Forecast imagine(TokenDemand demand) {
    return of(waitingList.rank(demand.rank()).waitingList.imagine(demand, now));
  }

  /** Returns the forecast of a waiter, or of a request that would become one. */
  public Forecast of(TokenWaiter who) {
    Forecaster.QueueAhead before = before(who);
    return new Forecast(before.count() + 1, alone(who.demand), held(who.demand, before));
  }

  /** Returns what the request would wait for if the waiting list were empty. */
  public WaitReason alone(TokenDemand demand) {
    return held(demand, Forecaster.QueueAhead.NOTHING);
  }

  private Forecaster.QueueAhead before(TokenWaiter who) {
    int count = 0;
    long sum = 0;
    long ofTenant = 0;
    int rank = who.demand.rank();
    for (int above = 0; above < rank; above++) {
      ClassWaitingList higher = waitingList.rank(above).waitingList;
      count += higher.size();
      sum += higher.tokens();
      ofTenant += higher.tokensOf(who.demand.tenant());
    }
    ClassWaitingList own = waitingList.rank(rank).waitingList;
    WaiterTreap.Prefix ahead = own.ahead(who);
    return new Forecaster.QueueAhead(
        count + ahead.count(),
        sum + ahead.tokens(),
        ahead.tokens(),
        ofTenant + own.aheadOfTenant(who).tokens());
  }

  private WaitReason held(TokenDemand demand, Forecaster.QueueAhead before) {
    if (waitingList.running() + (long) before.count() >= limits.slots()) {
      return new WaitReason(BudgetDimension.CONCURRENCY, WaitReason.UNKNOWN);
    }
    return byTokens(demand, before)
        .orLater(BudgetDimension.TENANT, forTenant(demand, before.ofTenant()))
        .orLater(BudgetDimension.REQUESTS, forRequests(before.count() + 1L))
        .orLater(BudgetDimension.PROVIDER, waitingList.pauseNanos(now));
  }

  /**
   * Returns the wait for the model's tokens, and for the share of the class unless its minimum
   * share comes first.
   */
  private WaitReason byTokens(TokenDemand demand, Forecaster.QueueAhead before) {
    PriorityClass rank = waitingList.rank(demand.rank());
    long forShare = nanosFor(before.tokens(), demand.tokens(), rank.floor);
    long forTokens = nanosFor(before.tokens(), demand.tokens(), 0);
    long guaranteed = forGuarantee(rank, before.ofClass() + demand.tokens());
    if (guaranteed != WaitReason.UNKNOWN) {
      // Those of the other classes do not go before it then.
      long forTokensAlone = nanosFor(before.ofClass(), demand.tokens(), 0);
      long sooner = Math.max(guaranteed, forTokensAlone);
      if (WaitReason.millis(sooner) < WaitReason.millis(forShare)) {
        forShare = sooner;
        forTokens = forTokensAlone;
      }
    }
    return WaitReason.NOTHING
        .orLater(BudgetDimension.TOKENS, forTokens)
        .orLater(BudgetDimension.PRIORITY_CLASS, forShare);
  }

  /** A request that is larger than the capacity of a slowed model goes when that is full. */
  private long nanosFor(long before, long own, long floor) {
    return tokens.nanosUntil(before + Math.min(own, tokens.capacity() - floor), floor);
  }

  /**
   * Returns the time until the minimum share of the class has accrued so much; unknown if it never
   * does.
   */
  private static long forGuarantee(PriorityClass rank, long wanted) {
    return rank.guarantee == null ? WaitReason.UNKNOWN : nanosUntil(rank.guarantee, wanted);
  }

  /** Unknown if it is more than the meter ever has. */
  private static long nanosUntil(DebtBucket bucket, long wanted) {
    return wanted > bucket.capacity() ? WaitReason.UNKNOWN : bucket.nanosUntil(wanted, 0);
  }

  private long forTenant(TokenDemand demand, long before) {
    DebtBucket budget = buckets.tenant(demand.tenant(), now);
    return budget == null ? 0 : budget.nanosUntil(before + demand.tokens(), 0);
  }

  private long forRequests(long count) {
    long nanos = 0;
    for (DebtBucket each : buckets.requests()) {
      nanos = Math.max(nanos, each.nanosUntil(count, 0));
    }
    return nanos;
  }

  // ---- one dimension at a time

  /** Returns the state of every dimension for this request alone. */
  List<TokenExplanation.DimensionStatus> parts(TokenDemand demand) {
    PriorityClass own = waitingList.rank(demand.rank());
    long needed = demand.tokens();
    List<TokenExplanation.DimensionStatus> parts = new ArrayList<>();
    parts.add(part(BudgetDimension.TOKENS, tokens, needed, forTokensAlone(needed)));
    if (own.floor > 0) {
      parts.add(
          new TokenExplanation.DimensionStatus(
              BudgetDimension.PRIORITY_CLASS,
              tokens.capacity() - own.floor,
              tokens.available() - own.floor,
              needed,
              known(forShareAlone(own, needed))));
    }
    DebtBucket budget = buckets.tenant(demand.tenant(), now);
    if (budget != null) {
      parts.add(part(BudgetDimension.TENANT, budget, needed, nanosUntil(budget, needed)));
    }
    for (DebtBucket each : buckets.requests()) {
      parts.add(part(BudgetDimension.REQUESTS, each, 1, nanosUntil(each, 1)));
    }
    addSlots(parts);
    long pause = waitingList.pauseNanos(now);
    if (pause > 0) {
      parts.add(
          new TokenExplanation.DimensionStatus(BudgetDimension.PROVIDER, 1, 0, 1, known(pause)));
    }
    return parts;
  }

  private long forTokensAlone(long needed) {
    return needed > limits.tokens().capacity() ? WaitReason.UNKNOWN : nanosFor(0, needed, 0);
  }

  private long forShareAlone(PriorityClass rank, long needed) {
    return needed > rank.limit.ceiling()
        ? WaitReason.UNKNOWN
        : Math.min(nanosFor(0, needed, rank.floor), forGuarantee(rank, needed));
  }

  private void addSlots(List<TokenExplanation.DimensionStatus> parts) {
    long free = limits.slots() - (long) waitingList.running();
    if (limits.concurrency() > 0 || free <= 0) {
      Optional<Duration> wait = known(free > 0 ? 0 : WaitReason.UNKNOWN);
      parts.add(
          new TokenExplanation.DimensionStatus(
              BudgetDimension.CONCURRENCY, limits.slots(), free, 1, wait));
    }
  }

  private static TokenExplanation.DimensionStatus part(
      BudgetDimension which, DebtBucket bucket, long needed, long nanos) {
    return new TokenExplanation.DimensionStatus(
        which, bucket.capacity(), bucket.available(), needed, known(nanos));
  }

  private static Optional<Duration> known(long nanos) {
    return new WaitReason(BudgetDimension.NONE, nanos).duration();
  }
}
