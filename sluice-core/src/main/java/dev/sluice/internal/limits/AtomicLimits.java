package dev.sluice.internal.limits;

import static dev.sluice.internal.util.Preconditions.requireNonEmpty;
import static dev.sluice.internal.util.Preconditions.requirePositive;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import dev.sluice.NanoClock;
import dev.sluice.internal.bucket.BucketMath;
import dev.sluice.internal.bucket.UnitScale;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The throttle: what callers ask, put to the buckets of their keys. */
public final class AtomicLimits implements Limits {
  /*
   * Every call looks its buckets up, asks them, and starts over if one of them was sealed or could
   * not note the grant; it helps that to be over first. Each such round means that some other thread
   * changed a rule or evicted a bucket, or that an axis came to its end.
   */
  private final NanoClock clock;

  private final BucketTable buckets;

  /** Whether a key without a rate is refused. */
  private final boolean strictKeys;

  private final LongAdder unknownNames = new LongAdder();

  public AtomicLimits(NanoClock clock, boolean strictKeys) {
    this.clock = clock;
    this.strictKeys = strictKeys;
    this.buckets = new BucketTable(clock);
  }

  @Override
  public void set(String name, Limit limit) {
    if (isTemplate(name)) {
      buckets.setTemplate(prefix(name), limit);
    } else {
      buckets.set(name, limit, clock.nanoTime());
    }
  }

  @Override
  public void restore(String name, Limit limit) {
    if (isTemplate(name)) {
      buckets.restoreTemplate(prefix(name), limit);
    } else {
      buckets.restore(name, limit);
    }
  }

  @Override
  public boolean remove(String name) {
    return isTemplate(name)
        ? buckets.removeTemplate(prefix(name))
        : buckets.remove(name, clock.nanoTime());
  }

  @Override
  public SortedMap<String, Limit> limits() {
    return buckets.limits();
  }

  private static boolean isTemplate(String name) {
    return requireNonEmpty("name", name).endsWith("*");
  }

  private static String prefix(String template) {
    int asterisk = template.indexOf('*');
    if (asterisk != template.length() - 1) {
      throw new IllegalArgumentException(
          "pattern must have one asterisk, at its end: pattern=" + template);
    }
    return template.substring(0, asterisk);
  }

  @Override
  public boolean tryAcquire(String key, long cost) {
    return tryAcquire(key, cost, clock.nanoTime());
  }

  @Override
  public boolean tryAcquire(String key, long cost, long nowNanos) {
    requireNonEmpty("name", key);
    requirePositive("cost", cost);
    for (; ; ) {
      KeyedBucket bucket = buckets.inService(key, nowNanos);
      if (bucket == null) {
        requireKnown(key, false);
        unknownNames.increment();
        return true;
      }
      long outcome = bucket.take(cost, nowNanos);
      if (outcome > KeyedBucket.EXPIRED) {
        return outcome >= 0;
      }
      buckets.renew(bucket, nowNanos);
    }
  }

  @Override
  public boolean tryAcquire(Collection<String> keys, long cost) {
    return tryAcquire(keys, cost, clock.nanoTime());
  }

  @Override
  public boolean tryAcquire(Collection<String> keys, long cost, long nowNanos) {
    requirePositive("cost", cost);
    for (; ; ) {
      MultiKeyAcquire claims = claims(keys, cost, nowNanos);
      MultiKeyAcquire.Result outcome = claims.take(nowNanos);
      if (outcome != MultiKeyAcquire.Result.BLOCKED) {
        unknownNames.add(claims.unknown());
        return outcome == MultiKeyAcquire.Result.GRANTED;
      }
      buckets.renew(claims.obstacle(), nowNanos);
    }
  }

  @Override
  public boolean tryAcquire(Map<String, Long> costs) {
    return tryAcquire(costs, clock.nanoTime());
  }

  @Override
  public boolean tryAcquire(Map<String, Long> costs, long nowNanos) {
    for (; ; ) {
      MultiKeyAcquire claims = claims(costs, nowNanos);
      MultiKeyAcquire.Result outcome = claims.take(nowNanos);
      if (outcome != MultiKeyAcquire.Result.BLOCKED) {
        unknownNames.add(claims.unknown());
        return outcome == MultiKeyAcquire.Result.GRANTED;
      }
      buckets.renew(claims.obstacle(), nowNanos);
    }
  }

  @Override
  public Decision decide(String key, long cost) {
    return decide(key, cost, clock.nanoTime());
  }

  @Override
  public Decision decide(String key, long cost, long nowNanos) {
    return decide(List.of(Objects.requireNonNull(key, "key")), cost, nowNanos);
  }

  @Override
  public Decision decide(Collection<String> keys, long cost) {
    return decide(keys, cost, clock.nanoTime());
  }

  @Override
  public Decision decide(Collection<String> keys, long cost, long nowNanos) {
    requirePositive("cost", cost);
    return decide(() -> claims(keys, cost, nowNanos), nowNanos);
  }

  @Override
  public Decision decide(Map<String, Long> costs) {
    return decide(costs, clock.nanoTime());
  }

  @Override
  public Decision decide(Map<String, Long> costs, long nowNanos) {
    return decide(() -> claims(costs, nowNanos), nowNanos);
  }

  private Decision decide(Supplier<MultiKeyAcquire> lookup, long nowNanos) {
    for (; ; ) {
      MultiKeyAcquire claims = lookup.get();
      MultiKeyAcquire.Result outcome = claims.take(nowNanos);
      if (outcome == MultiKeyAcquire.Result.GRANTED) {
        unknownNames.add(claims.unknown());
        return claims.granted(nowNanos);
      }
      Decision decision =
          outcome == MultiKeyAcquire.Result.BLOCKED ? null : claims.decide(nowNanos);
      if (decision == null) {
        buckets.renew(claims.obstacle(), nowNanos);
      } else if (!decision.isGranted()) {
        unknownNames.add(claims.unknown());
        return decision;
      }
    }
  }

  @Override
  public Decision peek(String key, long cost) {
    return peek(key, cost, clock.nanoTime());
  }

  @Override
  public Decision peek(String key, long cost, long nowNanos) {
    return peek(List.of(Objects.requireNonNull(key, "key")), cost, nowNanos);
  }

  @Override
  public Decision peek(Collection<String> keys, long cost) {
    return peek(keys, cost, clock.nanoTime());
  }

  @Override
  public Decision peek(Collection<String> keys, long cost, long nowNanos) {
    requirePositive("cost", cost);
    requireKeys(keys);
    return peek(
        () -> {
          MultiKeyAcquire claims = new MultiKeyAcquire(keys.size());
          keys.forEach(key -> claims.addIfAny(known(key, buckets.like(key, nowNanos)), cost));
          return claims;
        },
        nowNanos);
  }

  @Override
  public Decision peek(Map<String, Long> costs) {
    return peek(costs, clock.nanoTime());
  }

  @Override
  public Decision peek(Map<String, Long> costs, long nowNanos) {
    requireCosts(costs);
    return peek(
        () -> {
          MultiKeyAcquire claims = new MultiKeyAcquire(costs.size());
          costs.forEach(
              (key, cost) -> claims.addIfAny(known(key, buckets.like(key, nowNanos)), cost));
          return claims;
        },
        nowNanos);
  }

  private Decision peek(Supplier<MultiKeyAcquire> lookup, long nowNanos) {
    for (; ; ) {
      MultiKeyAcquire claims = lookup.get();
      Decision decision = claims.decide(nowNanos);
      if (decision != null) {
        return decision;
      }
      buckets.renew(claims.obstacle(), nowNanos);
    }
  }

  private MultiKeyAcquire claims(Collection<String> keys, long cost, long nowNanos) {
    MultiKeyAcquire claims = new MultiKeyAcquire(keys.size());
    for (String key : keys) {
      requireNonEmpty("name", key);
      KeyedBucket bucket = buckets.present(key);
      if (bucket == null) {
        // Nothing is made for a request that turns out to be misuse.
        requireKeys(keys);
        bucket = known(key, buckets.inService(key, nowNanos));
      }
      claims.addIfAny(bucket, cost);
    }
    claims.order();
    return claims;
  }

  private MultiKeyAcquire claims(Map<String, Long> costs, long nowNanos) {
    requireCosts(costs);
    MultiKeyAcquire claims = new MultiKeyAcquire(costs.size());
    for (Map.Entry<String, Long> entry : costs.entrySet()) {
      String key = entry.getKey();
      claims.addIfAny(known(key, buckets.inService(key, nowNanos)), entry.getValue());
    }
    claims.order();
    return claims;
  }

  private void requireKeys(Collection<String> keys) {
    for (String key : keys) {
      requireNonEmpty("name", key);
      requireKnown(key, buckets.isKnown(key));
    }
  }

  private void requireCosts(Map<String, Long> costs) {
    for (Map.Entry<String, Long> entry : costs.entrySet()) {
      requireNonEmpty("name", entry.getKey());
      requirePositive("cost", Objects.requireNonNull(entry.getValue(), "cost"));
      requireKnown(entry.getKey(), buckets.isKnown(entry.getKey()));
    }
  }

  /** Checks again after {@link #requireKeys}: the key's rate may have been removed since. */
  private @Nullable KeyedBucket known(String key, @Nullable KeyedBucket bucket) {
    requireKnown(key, bucket != null);
    return bucket;
  }

  private void requireKnown(String key, boolean known) {
    if (strictKeys && !known) {
      unknownNames.increment();
      throw new IllegalArgumentException(
          "name must have a limit, or match a template: name=" + key);
    }
  }

  @Override
  public long unknownNames() {
    return unknownNames.sum();
  }

  @Override
  public long evictIdle() {
    return evictIdle(clock.nanoTime());
  }

  @Override
  public long evictIdle(long nowNanos) {
    return buckets.evictIdle(nowNanos);
  }

  @Override
  public Optional<LimitStats> stats(String key) {
    return stats(key, clock.nanoTime());
  }

  @Override
  public Optional<LimitStats> stats(String key, long nowNanos) {
    requireNonEmpty("name", key);
    for (; ; ) {
      KeyedBucket bucket = buckets.like(key, nowNanos);
      if (bucket == null) {
        return Optional.empty();
      }
      long fullAt = bucket.settledFullAt();
      if (fullAt >= 0) {
        return Optional.of(stats(bucket, fullAt, nowNanos));
      }
      buckets.renew(bucket, nowNanos);
    }
  }

  private static LimitStats stats(KeyedBucket bucket, long fullAt, long nowNanos) {
    UnitScale scale = bucket.axis.scale();
    long level = BucketMath.level(fullAt, bucket.axis.unitsAt(nowNanos), scale.capacityUnits());
    return new LimitStats(
        bucket.key,
        scale.limit(),
        (double) level / scale.unitsPerToken(),
        0,
        0,
        Optional.empty(),
        OptionalLong.empty());
  }

  @Override
  public List<LimitStats> stats() {
    long nowNanos = clock.nanoTime();
    List<LimitStats> snapshots = new ArrayList<>();
    for (KeyedBucket bucket : buckets.all()) {
      stats(bucket.key, nowNanos).ifPresent(snapshots::add);
    }
    return snapshots;
  }

  @Override
  public boolean hasBucket(String key) {
    requireNonEmpty("name", key);
    return buckets.present(key) != null;
  }

  @Override
  public int size() {
    return buckets.size();
  }

  /** For tests: axes held for sharing. */
  public int axes() {
    return buckets.axes();
  }

  @Override
  public String toString() {
    return "Limits[size=" + size() + "]";
  }
}
