package dev.sluice.redis;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Throttle;
import dev.sluice.ThrottleDecision;
import dev.sluice.TokenBucket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What this node may grant by itself in one outage: its share of every limit, from empty.
 *
 * <p>Why the limit holds over the return, when all nodes were cut off together: let a limit of
 * capacity C and rate r be divided among N nodes. Each share begins empty, brings r/N and holds
 * C/N, so in the outage all of them grant no more than time pays back, but for the C that they hold
 * together: what the fleet owes stays at most C, whether it owed something before or not. On return
 * a node is charged what it granted, up to C, and the debt in Redis is not raised above C. A charge
 * comes later than what it is for, so less of it is paid back: once all nodes are charged, the debt
 * in Redis is at least what the fleet owes, or it is C, which is no less.
 *
 * <p>Nodes do not return in the same instant. So for a while after its return a node takes from
 * Redis only what its share has as well ({@link #gate}): until the last one is charged, all of them
 * together still get no more than their shares.
 */
final class Shares {
  /** Each costs memory here and a call on return; a key more is denied. */
  private static final int MAX_KEYS = 100_000;

  private final int nodes;
  private final LongSupplier serverNanos;
  private final Throttle throttle;
  private final Map<String, Share> buckets;

  /** Whether what is granted is charged later. */
  private final boolean charging;

  /** Whether these decide about some keys, and not Redis. */
  private final Predicate<List<Demand>> inCharge;

  private final Map<String, Grants> grants = new ConcurrentHashMap<>();
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private Rules rules = Rules.NONE;
  private @Nullable Shares gate;
  private boolean closed;

  /** Written under the write lock. */
  private volatile Totals totals = new Totals(0, 0, 0);

  /** The share of one bucket, and the limit that it is a share of. */
  private record Share(Limit whole, TokenBucket bucket) {
    Share under(Limit limit, Shares shares) {
      if (whole.equals(limit)) {
        return this;
      }
      Limit next = shares.share(limit);
      boolean sameClock = bucket.limit() instanceof Limit.Strict == next instanceof Limit.Strict;
      if (!sameClock || next instanceof Limit.Strict) {
        return shares.begin(limit);
      }
      bucket.reconfigure(next);
      return new Share(limit, bucket);
    }
  }

  /** What was granted of one key, and what it may be charged at most. */
  private record Grants(Quota quota, long most, LongAdder tokens) {}

  /**
   * What a limit is charged on return.
   *
   * @param key where the bucket is in Redis
   * @param quota its limit
   * @param granted tokens that were granted
   * @param charged tokens to be charged
   */
  record Charge(String key, Quota quota, long granted, long charged) {}

  /** Sums of charges. */
  record Totals(int keys, long granted, long charged) {
    Totals plus(Charge charge) {
      return new Totals(keys + 1, granted + charge.granted(), charged + charge.charged());
    }
  }

  /**
   * Shares among so many nodes.
   *
   * @param serverNanos what the clock of Redis shows, on whose grid the periods of strict limits
   *     lie
   */
  Shares(int nodes, Rules rules, LongSupplier serverNanos) {
    this(nodes, rules, serverNanos, any -> true);
  }

  /**
   * Shares among so many nodes, of some keys.
   *
   * @param inCharge whether these decide about some keys, and not Redis
   */
  Shares(int nodes, Rules rules, LongSupplier serverNanos, Predicate<List<Demand>> inCharge) {
    this.nodes = nodes;
    this.serverNanos = serverNanos;
    this.inCharge = inCharge;
    this.throttle = Throttle.create();
    this.buckets = new ConcurrentHashMap<>();
    this.charging = true;
    follow(rules);
  }

  private Shares(Shares before) {
    this.nodes = before.nodes;
    this.serverNanos = before.serverNanos;
    this.inCharge = any -> true;
    this.throttle = before.throttle;
    this.buckets = before.buckets;
    this.charging = false;
    this.rules = before.rules;
  }

  /** The same shares after the outage: Redis itself is asked for what they grant. */
  synchronized Shares gate() {
    if (gate == null) {
      gate = new Shares(this);
    }
    return gate;
  }

  /** Among how many nodes the limits are divided. */
  int nodes() {
    return nodes;
  }

  /** Goes over to other rules. */
  synchronized void follow(Rules next) {
    Map<String, Rule> gone = new HashMap<>();
    rules.list().forEach(rule -> gone.put(rule.key(), rule));
    for (Rule rule : next.list()) {
      if (rule.equals(gone.remove(rule.key()))) {
        continue;
      }
      try {
        restore(rule, rule.ratePerSecond() / nodes, rule.burst() / nodes);
      } catch (IllegalArgumentException tooSmallToDivide) {
        restore(rule, 0, 0);
      }
    }
    for (Rule rule : gone.values()) {
      if (rule.isTemplate()) {
        throttle.removeTemplate(rule.key());
      } else {
        throttle.removeRate(rule.key());
      }
    }
    rules = next;
  }

  private void restore(Rule rule, double rate, double burst) {
    if (rule.isTemplate()) {
      throttle.restoreTemplate(rule.key(), rate, burst);
    } else {
      throttle.restoreRate(rule.key(), rate, burst);
    }
  }

  /** The share of a bucket, which begins empty. */
  private TokenBucket bucket(String place, Limit limit) {
    Share share =
        buckets.compute(
            place, (same, known) -> known == null ? begin(limit) : known.under(limit, this));
    return share.bucket();
  }

  private Share begin(Limit limit) {
    Limit share = share(limit);
    if (!(share instanceof Limit.Strict strict)) {
      return new Share(limit, TokenBucket.builder().limit(share).initialTokens(0).build());
    }
    GridClock clock = new GridClock(serverNanos, strict.period().toNanos());
    TokenBucket bucket = TokenBucket.builder().limit(share).initialTokens(0).clock(clock).build();
    clock.start();
    return new Share(limit, bucket);
  }

  /** A limit divided among the nodes, rounded against the caller. */
  private Limit share(Limit limit) {
    try {
      Limit share = divided(limit);
      TokenBucket.of(share);
      return share;
    } catch (IllegalArgumentException tooSmallToDivide) {
      return new Limit.DenyAll();
    }
  }

  private Limit divided(Limit limit) {
    if (limit instanceof Limit.Balanced balanced) {
      return new Limit.Balanced(
          balanced.capacity() / nodes,
          balanced.refillTokens(),
          balanced.refillPeriod().multipliedBy(nodes));
    }
    if (limit instanceof Limit.Rate rate) {
      return new Limit.Rate(rate.perSecond() / nodes, rate.burst() / nodes);
    }
    if (limit instanceof Limit.Strict strict) {
      return new Limit.Strict(strict.capacity() / nodes, strict.period());
    }
    return limit instanceof Limit.Manual manual
        ? new Limit.Manual(manual.capacity() / nodes)
        : limit;
  }

  /** Decides by the share of a bucket; empty if Redis does. */
  Optional<Decision> decide(Demand demand, boolean take) {
    long tokens = demand.tokens();
    return whileOpen(
        List.of(demand),
        () -> {
          TokenBucket share = bucket(demand.place(), demand.quota().limit());
          if (!take) {
            return Outage.temporary(share.peek(tokens));
          }
          if (!mayGrow(List.of(demand))) {
            return Outage.DENIED;
          }
          Decision decision = share.decide(tokens);
          if (decision.isGranted()) {
            note(demand);
          }
          return Outage.temporary(decision);
        });
  }

  /** Decides by the shares of several keys; empty if Redis does. */
  Optional<ThrottleDecision> decide(List<Demand> demands, boolean take) {
    Map<String, Long> costs = new LinkedHashMap<>();
    demands.forEach(demand -> costs.put(demand.key(), demand.tokens()));
    return whileOpen(
        demands,
        () -> {
          if (!take) {
            return Outage.temporary(throttle.peek(costs));
          }
          if (!mayGrow(demands)) {
            return Outage.denied(demands.get(0).key());
          }
          ThrottleDecision decision = throttle.consume(costs);
          if (decision.isGranted()) {
            demands.forEach(this::note);
          }
          return Outage.temporary(decision);
        });
  }

  private boolean mayGrow(List<Demand> demands) {
    return grants.size() < MAX_KEYS
        || demands.stream().allMatch(demand -> grants.containsKey(demand.place()));
  }

  private <T> Optional<T> whileOpen(List<Demand> demands, Supplier<T> decision) {
    lock.readLock().lock();
    try {
      return closed || !inCharge.test(demands) ? Optional.empty() : Optional.of(decision.get());
    } finally {
      lock.readLock().unlock();
    }
  }

  private void note(Demand demand) {
    if (!charging) {
      return;
    }
    grants
        .computeIfAbsent(demand.place(), absent -> grantsOf(demand.quota()))
        .tokens()
        .add(demand.tokens());
  }

  private Grants grantsOf(Quota quota) {
    return new Grants(quota, (long) Math.ceil(quota.burst()), new LongAdder());
  }

  /** What was granted of some keys, no more than {@code most}; from now on it counts as charged. */
  List<Charge> drain(int most) {
    lock.writeLock().lock();
    try {
      return take(most);
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** {@link #drain(int)} of one key; null if nothing was granted of it. */
  @Nullable Charge drain(String place) {
    lock.writeLock().lock();
    try {
      @Nullable Grants granted = grants.remove(place);
      if (granted == null) {
        return null;
      }
      Charge charge = charge(place, granted);
      totals = totals.plus(charge);
      return charge;
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Keys of which something was granted that is not charged, with their limits. */
  Map<String, Quota> owed() {
    Map<String, Quota> owed = new HashMap<>();
    grants.forEach((place, granted) -> owed.put(place, granted.quota()));
    return owed;
  }

  /** Runs it while these decide nothing. */
  void exclusively(Runnable work) {
    lock.writeLock().lock();
    try {
      work.run();
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Ends the outage: {@code last} is told what to charge before anybody asks Redis again. */
  void close(Consumer<List<Charge>> last) {
    lock.writeLock().lock();
    try {
      closed = true;
      last.accept(take(Integer.MAX_VALUE));
    } finally {
      lock.writeLock().unlock();
    }
  }

  private List<Charge> take(int most) {
    List<Charge> charges = new ArrayList<>();
    Iterator<Map.Entry<String, Grants>> each = grants.entrySet().iterator();
    while (each.hasNext() && charges.size() < most) {
      Map.Entry<String, Grants> next = each.next();
      each.remove();
      charges.add(charge(next.getKey(), next.getValue()));
    }
    for (Charge charge : charges) {
      totals = totals.plus(charge);
    }
    return charges;
  }

  private static Charge charge(String place, Grants granted) {
    long tokens = granted.tokens().sum();
    return new Charge(place, granted.quota(), tokens, Math.min(tokens, granted.most()));
  }

  /** What was charged in all. */
  Totals totals() {
    return totals;
  }
}
