package dev.sluice.governor;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Says when requests of a model's line can go, and what they wait for. Nothing changes by this. Not
 * thread-safe.
 */
final class Forecaster {
  /*
   * Rule. Each dimension says by itself when it lets a request go that comes after all those before
   * it: tokens and requests add up what they take, the tenant's budget what the same tenant takes.
   * The latest of these is the forecast: exact for the first in line and wherever one dimension
   * holds everybody, else the earliest that is possible in this order. A slot is free when a call
   * is settled, at a time that is unknown: without a free slot for the request and for all those
   * before it there is no forecast, whatever the other dimensions say. placeOf in forecast.lua
   * is the same rule.
   */
  private final ModelLine line;
  private final ModelLimits limits;
  private final Levels levels;
  private final Meter tokens;
  private final long now;

  /** For one moment, to which the line has been advanced. */
  Forecaster(ModelLine line, long now) {
    this.line = line;
    this.limits = line.limits();
    this.levels = line.levels();
    this.tokens = levels.tokens();
    this.now = now;
  }

  /**
   * What goes before a request.
   *
   * @param count requests
   * @param tokens what they take
   * @param ofClass what those of its own class take
   * @param ofTenant what those of its own tenant take
   */
  private record Before(int count, long tokens, long ofClass, long ofTenant) {
    static final Before NOTHING = new Before(0, 0, 0, 0);
  }

  /** Of a request that would come now. */
  Forecast imagine(Demand demand) {
    return of(line.rank(demand.rank()).line.imagine(demand, now));
  }

  /** Of a request that is in line, or is imagined there. */
  Forecast of(Waiting who) {
    Before before = before(who);
    return new Forecast(before.count() + 1, alone(who.demand), held(who.demand, before));
  }

  /** Returns what the request would wait for if the line were empty. */
  Held alone(Demand demand) {
    return held(demand, Before.NOTHING);
  }

  private Before before(Waiting who) {
    int count = 0;
    long sum = 0;
    long ofTenant = 0;
    int rank = who.demand.rank();
    for (int above = 0; above < rank; above++) {
      ClassLine higher = line.rank(above).line;
      count += higher.size();
      sum += higher.tokens();
      ofTenant += higher.tokensOf(who.demand.tenant());
    }
    ClassLine own = line.rank(rank).line;
    RankedLine.Ahead ahead = own.ahead(who);
    return new Before(
        count + ahead.count(),
        sum + ahead.tokens(),
        ahead.tokens(),
        ofTenant + own.aheadOfTenant(who).tokens());
  }

  private Held held(Demand demand, Before before) {
    if (line.running() + (long) before.count() >= limits.slots()) {
      return new Held(Dimension.CONCURRENCY, Held.UNKNOWN);
    }
    return byTokens(demand, before)
        .orLater(Dimension.TENANT, forTenant(demand, before.ofTenant()))
        .orLater(Dimension.REQUESTS, forRequests(before.count() + 1L))
        .orLater(Dimension.PROVIDER, line.pauseNanos(now));
  }

  /** By the model's tokens, and by the share of the class unless its guarantee comes first. */
  private Held byTokens(Demand demand, Before before) {
    Rank rank = line.rank(demand.rank());
    long forShare = nanosFor(before.tokens(), demand.tokens(), rank.floor);
    long forTokens = nanosFor(before.tokens(), demand.tokens(), 0);
    long guaranteed = forGuarantee(rank, before.ofClass() + demand.tokens());
    if (guaranteed != Held.UNKNOWN) {
      // Those of the other classes do not go before it then.
      long forTokensAlone = nanosFor(before.ofClass(), demand.tokens(), 0);
      long sooner = Math.max(guaranteed, forTokensAlone);
      if (Held.millis(sooner) < Held.millis(forShare)) {
        forShare = sooner;
        forTokens = forTokensAlone;
      }
    }
    return Held.NOTHING.orLater(Dimension.TOKENS, forTokens).orLater(Dimension.CLASS, forShare);
  }

  /** What is more than a slowed model ever has goes when that is full. */
  private long nanosFor(long before, long own, long floor) {
    return tokens.nanosUntil(before + Math.min(own, tokens.capacity() - floor), floor);
  }

  /** Until the guarantee of the class has accrued so much; unknown if it never does. */
  private static long forGuarantee(Rank rank, long wanted) {
    return rank.guarantee == null ? Held.UNKNOWN : nanosUntil(rank.guarantee, wanted);
  }

  /** Unknown if it is more than the meter ever has. */
  private static long nanosUntil(Meter meter, long wanted) {
    return wanted > meter.capacity() ? Held.UNKNOWN : meter.nanosUntil(wanted, 0);
  }

  private long forTenant(Demand demand, long before) {
    Meter budget = levels.tenant(demand.tenant(), now);
    return budget == null ? 0 : budget.nanosUntil(before + demand.tokens(), 0);
  }

  private long forRequests(long count) {
    long nanos = 0;
    for (Meter each : levels.requests()) {
      nanos = Math.max(nanos, each.nanosUntil(count, 0));
    }
    return nanos;
  }

  // ---- one dimension at a time

  /** How every dimension that counts stands for this request alone. */
  List<Explanation.Part> parts(Demand demand) {
    Rank own = line.rank(demand.rank());
    long needed = demand.tokens();
    List<Explanation.Part> parts = new ArrayList<>();
    parts.add(part(Dimension.TOKENS, tokens, needed, forTokensAlone(needed)));
    if (own.floor > 0) {
      parts.add(
          new Explanation.Part(
              Dimension.CLASS,
              tokens.capacity() - own.floor,
              tokens.available() - own.floor,
              needed,
              known(forShareAlone(own, needed))));
    }
    Meter budget = levels.tenant(demand.tenant(), now);
    if (budget != null) {
      parts.add(part(Dimension.TENANT, budget, needed, nanosUntil(budget, needed)));
    }
    for (Meter each : levels.requests()) {
      parts.add(part(Dimension.REQUESTS, each, 1, nanosUntil(each, 1)));
    }
    addSlots(parts);
    long pause = line.pauseNanos(now);
    if (pause > 0) {
      parts.add(new Explanation.Part(Dimension.PROVIDER, 1, 0, 1, known(pause)));
    }
    return parts;
  }

  private long forTokensAlone(long needed) {
    return needed > limits.tokens().capacity() ? Held.UNKNOWN : nanosFor(0, needed, 0);
  }

  private long forShareAlone(Rank rank, long needed) {
    return needed > rank.limit.ceiling()
        ? Held.UNKNOWN
        : Math.min(nanosFor(0, needed, rank.floor), forGuarantee(rank, needed));
  }

  private void addSlots(List<Explanation.Part> parts) {
    long free = limits.slots() - (long) line.running();
    if (limits.concurrency() > 0 || free <= 0) {
      OptionalLong wait = known(free > 0 ? 0 : Held.UNKNOWN);
      parts.add(new Explanation.Part(Dimension.CONCURRENCY, limits.slots(), free, 1, wait));
    }
  }

  private static Explanation.Part part(Dimension which, Meter meter, long needed, long nanos) {
    return new Explanation.Part(which, meter.capacity(), meter.available(), needed, known(nanos));
  }

  private static OptionalLong known(long nanos) {
    return new Held(Dimension.NONE, nanos).millis();
  }
}
