package dev.sluice.redis.internal.limits;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limits;
import dev.sluice.NanoClock;
import dev.sluice.TokenBucket;
import dev.sluice.redis.internal.connection.MembershipConfig;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * The limits by which this node decides alone in one outage: its share of each, which begins empty.
 * Redis has reserved that share for as long as the outage lasts, so nothing is charged afterwards,
 * and what is left of it is lost.
 *
 * <p>Thread-safe.
 */
public final class OutageLimits {
  /** Each key costs memory; a request for another one is denied. */
  private static final int MAX_KEYS = 100_000;

  private final int parts;
  private final LongSupplier serverNanos;
  private final NanoClock clock;
  private final Limits throttle;
  private final Map<String, OutageLimits.ShareBucket> buckets = new ConcurrentHashMap<>();
  private final Set<String> places = ConcurrentHashMap.newKeySet();
  private final LongAdder granted = new LongAdder();

  // Guarded by this.
  private LimitTable rules = LimitTable.NONE;

  /** The share of one bucket, and the limit that it is a share of. */
  private record ShareBucket(Limit whole, TokenBucket bucket) {}

  /**
   * Creates the limits of one outage.
   *
   * @param parts this node's share, of {@link MembershipConfig#PARTS}
   * @param clock the clock of this node
   * @param serverNanos the time of Redis, on whose grid the periods of strict limits lie
   */
  OutageLimits(int parts, LimitTable rules, NanoClock clock, LongSupplier serverNanos) {
    this.parts = parts;
    this.clock = clock;
    this.throttle = Limits.builder().clock(clock).build();
    this.serverNanos = serverNanos;
    follow(rules);
  }

  /** Returns how many tokens were granted. */
  long granted() {
    return granted.sum();
  }

  /** Returns of how many keys tokens were asked for. */
  int keys() {
    return places.size();
  }

  /** Adopts other definitions of limits. */
  synchronized void follow(LimitTable next) {
    SortedMap<String, Limit> before = rules.limits();
    SortedMap<String, Limit> after = next.limits();
    after.forEach(
        (name, limit) -> {
          if (!limit.equals(before.get(name))) {
            restore(name, limit);
          }
        });
    for (String name : before.keySet()) {
      if (after.containsKey(name)) {
        continue;
      }
      throttle.remove(name);
    }
    rules = next;
  }

  private void restore(String name, Limit limit) {
    try {
      restore(name, part(NamedLimit.perSecond(limit)), part(NamedLimit.burst(limit)));
    } catch (IllegalArgumentException tooSmallToDivide) {
      restore(name, 0, 0);
    }
  }

  private void restore(String name, double rate, double burst) {
    throttle.restore(name, Limit.ofRate(rate, burst));
  }

  private double part(double whole) {
    return parts == MembershipConfig.PARTS
        ? whole
        : Math.nextDown(whole * parts / MembershipConfig.PARTS);
  }

  private long part(long whole) {
    return Math.multiplyHigh(whole, parts) == 0 && whole <= Long.MAX_VALUE / MembershipConfig.PARTS
        ? whole * parts / MembershipConfig.PARTS
        : whole / MembershipConfig.PARTS * parts;
  }

  private TokenBucket bucket(BucketDemand demand) {
    Limit limit = demand.quota().limit();
    return buckets
        .compute(
            demand.place(), (same, known) -> known == null ? begin(limit) : under(limit, known))
        .bucket();
  }

  private OutageLimits.ShareBucket under(Limit limit, OutageLimits.ShareBucket known) {
    if (known.whole().equals(limit)) {
      return known;
    }
    Limit next = share(limit);
    if (known.bucket().limit() instanceof Limit.Strict || next instanceof Limit.Strict) {
      return begin(limit);
    }
    known.bucket().reconfigure(next);
    return new OutageLimits.ShareBucket(limit, known.bucket());
  }

  private OutageLimits.ShareBucket begin(Limit limit) {
    Limit share = share(limit);
    TokenBucket.Builder empty = TokenBucket.builder().limit(share).initialTokens(0);
    if (!(share instanceof Limit.Strict strict)) {
      return new OutageLimits.ShareBucket(limit, empty.clock(clock).build());
    }
    PeriodGridClock grid = new PeriodGridClock(serverNanos, strict.period().toNanos());
    TokenBucket bucket = empty.clock(grid).build();
    grid.start();
    return new OutageLimits.ShareBucket(limit, bucket);
  }

  /** Returns this node's part of a limit, rounded against the caller. */
  private Limit share(Limit limit) {
    try {
      Limit share = divided(limit);
      TokenBucket.of(share);
      return share;
    } catch (IllegalArgumentException | ArithmeticException tooSmallToDivide) {
      return new Limit.DenyAll();
    }
  }

  private Limit divided(Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      return new Limit.Balanced(
          part(balanced.capacity()), balanced.refillTokens(), longer(balanced.refillPeriod()));
    }
    if (limit instanceof Limit.Rate rate) {
      return new Limit.Rate(part(rate.perSecond()), part(rate.burst()));
    }
    if (limit instanceof Limit.Strict strict) {
      return new Limit.Strict(part(strict.capacity()), strict.period());
    }
    // A manual limit has no rate of which a share could come.
    return limit instanceof Limit.Manual ? new Limit.DenyAll() : limit;
  }

  /** Returns the time in which the share brings what the whole brings in {@code period}. */
  private Duration longer(Duration period) {
    if (parts == 0) {
      throw new IllegalArgumentException("this node has no share");
    }
    return period
        .multipliedBy(MembershipConfig.PARTS)
        .dividedBy(parts)
        .plusNanos(MembershipConfig.PARTS % parts == 0 ? 0 : 1);
  }

  /** Decides about a bucket. */
  public Decision decide(BucketDemand demand, boolean take) {
    if (isOneTooMany(List.of(demand))) {
      return OutageDecisions.DENIED;
    }
    TokenBucket share = bucket(demand);
    if (!take) {
      return OutageDecisions.temporary(share.peek(demand.tokens()));
    }
    Decision decision = share.decide(demand.tokens());
    if (decision.isGranted()) {
      granted.add(demand.tokens());
    }
    return OutageDecisions.temporary(decision);
  }

  /** Decides about several keys. */
  public Decision decide(List<BucketDemand> demands, boolean take) {
    if (isOneTooMany(demands)) {
      return OutageDecisions.denied(demands.get(0).key());
    }
    Map<String, Long> costs = new LinkedHashMap<>();
    demands.forEach(demand -> costs.put(demand.key(), demand.tokens()));
    if (!take) {
      return OutageDecisions.temporary(throttle.peek(costs));
    }
    Decision decision = throttle.decide(costs);
    if (decision.isGranted()) {
      demands.forEach(demand -> granted.add(demand.tokens()));
    }
    return OutageDecisions.temporary(decision);
  }

  private boolean isOneTooMany(List<BucketDemand> demands) {
    for (BucketDemand demand : demands) {
      if (!places.contains(demand.place())) {
        if (places.size() >= MAX_KEYS) {
          return true;
        }
        places.add(demand.place());
      }
    }
    return false;
  }
}
