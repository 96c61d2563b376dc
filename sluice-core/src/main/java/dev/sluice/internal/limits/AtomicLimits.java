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

/** Looks up the buckets of a request and takes from all of them or none. */
public final class AtomicLimits implements Limits {
  /*
   * Every call looks its buckets up, takes from them, and starts over if one of them was sealed or
   * could not note the grant; it first helps to replace that bucket. Each such round means that
   * another thread changed a limit or evicted a bucket, or that an epoch scale came to its end.
   */
  private final NanoClock clock;

  private final BucketTable buckets;

  /** True if a name without a limit is an error. */
  private final boolean strictNames;

  private final LongAdder unknownNames = new LongAdder();

  public AtomicLimits(NanoClock clock, boolean strictNames) {
    this.clock = clock;
    this.strictNames = strictNames;
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
          "pattern must have one asterisk, at its end, but was " + template);
    }
    return template.substring(0, asterisk);
  }

  @Override
  public boolean tryAcquire(String name, long cost) {
    requireNonEmpty("name", name);
    requirePositive("cost", cost);
    long nowNanos = clock.nanoTime();
    for (; ; ) {
      KeyedBucket bucket = buckets.inService(name, nowNanos);
      if (bucket == null) {
        requireKnown(name, false);
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
  public boolean tryAcquire(Collection<String> names) {
    long nowNanos = clock.nanoTime();
    MultiKeyAcquire.Result result;
    do {
      result = take(request(names, 1, nowNanos), nowNanos);
    } while (result == MultiKeyAcquire.Result.BLOCKED);
    return result == MultiKeyAcquire.Result.GRANTED;
  }

  @Override
  public boolean tryAcquire(Map<String, Long> costs) {
    long nowNanos = clock.nanoTime();
    MultiKeyAcquire.Result result;
    do {
      result = take(request(costs, nowNanos), nowNanos);
    } while (result == MultiKeyAcquire.Result.BLOCKED);
    return result == MultiKeyAcquire.Result.GRANTED;
  }

  /** Takes all or nothing; if blocked, the request is to be made again. */
  private MultiKeyAcquire.Result take(MultiKeyAcquire request, long nowNanos) {
    MultiKeyAcquire.Result result = request.take(nowNanos);
    if (result == MultiKeyAcquire.Result.BLOCKED) {
      buckets.renew(request.obstacle(), nowNanos);
    } else {
      unknownNames.add(request.unknown());
    }
    return result;
  }

  @Override
  public Decision decide(String name, long cost) {
    requirePositive("cost", cost);
    long nowNanos = clock.nanoTime();
    List<String> names = List.of(Objects.requireNonNull(name, "name"));
    return decide(() -> request(names, cost, nowNanos), nowNanos);
  }

  @Override
  public Decision decide(Map<String, Long> costs) {
    long nowNanos = clock.nanoTime();
    return decide(() -> request(costs, nowNanos), nowNanos);
  }

  private Decision decide(Supplier<MultiKeyAcquire> lookup, long nowNanos) {
    for (; ; ) {
      MultiKeyAcquire request = lookup.get();
      MultiKeyAcquire.Result result = request.take(nowNanos);
      if (result == MultiKeyAcquire.Result.GRANTED) {
        unknownNames.add(request.unknown());
        return request.granted(nowNanos);
      }
      Decision decision =
          result == MultiKeyAcquire.Result.BLOCKED ? null : request.decide(nowNanos);
      if (decision == null) {
        buckets.renew(request.obstacle(), nowNanos);
      } else if (!decision.isGranted()) {
        unknownNames.add(request.unknown());
        return decision;
      }
    }
  }

  @Override
  public Decision peek(String name, long cost) {
    requireCost(name, cost);
    return peekAt(Map.of(name, cost), clock.nanoTime());
  }

  @Override
  public Decision peek(Map<String, Long> costs) {
    requireCosts(costs);
    return peekAt(costs, clock.nanoTime());
  }

  private Decision peekAt(Map<String, Long> costs, long nowNanos) {
    for (; ; ) {
      MultiKeyAcquire request = new MultiKeyAcquire(costs.size());
      costs.forEach(
          (name, cost) -> request.addIfAny(known(name, buckets.like(name, nowNanos)), cost));
      Decision decision = request.decide(nowNanos);
      if (decision != null) {
        return decision;
      }
      buckets.renew(request.obstacle(), nowNanos);
    }
  }

  private MultiKeyAcquire request(Collection<String> names, long cost, long nowNanos) {
    MultiKeyAcquire request = new MultiKeyAcquire(names.size());
    for (String name : names) {
      requireNonEmpty("name", name);
      KeyedBucket bucket = buckets.present(name);
      if (bucket == null) {
        // Nothing is made for a request that turns out to be misuse.
        requireNames(names);
        bucket = known(name, buckets.inService(name, nowNanos));
      }
      request.addIfAny(bucket, cost);
    }
    request.order();
    return request;
  }

  private MultiKeyAcquire request(Map<String, Long> costs, long nowNanos) {
    requireCosts(costs);
    MultiKeyAcquire request = new MultiKeyAcquire(costs.size());
    for (Map.Entry<String, Long> entry : costs.entrySet()) {
      String name = entry.getKey();
      request.addIfAny(known(name, buckets.inService(name, nowNanos)), entry.getValue());
    }
    request.order();
    return request;
  }

  private void requireNames(Collection<String> names) {
    for (String name : names) {
      requireNonEmpty("name", name);
      requireKnown(name, buckets.isKnown(name));
    }
  }

  private void requireCosts(Map<String, Long> costs) {
    costs.forEach((name, cost) -> requireCost(name, Objects.requireNonNull(cost, "cost")));
  }

  private void requireCost(String name, long cost) {
    requireNonEmpty("name", name);
    requirePositive("cost", cost);
    requireKnown(name, buckets.isKnown(name));
  }

  /** Checks again after {@link #requireNames}: the limit may have been removed since. */
  private @Nullable KeyedBucket known(String name, @Nullable KeyedBucket bucket) {
    requireKnown(name, bucket != null);
    return bucket;
  }

  private void requireKnown(String name, boolean known) {
    if (strictNames && !known) {
      unknownNames.increment();
      throw new IllegalArgumentException(
          "name must have a limit, or match a template: name=" + name);
    }
  }

  @Override
  public long unknownNames() {
    return unknownNames.sum();
  }

  @Override
  public long evictIdle() {
    return buckets.evictIdle(clock.nanoTime());
  }

  @Override
  public Optional<LimitStats> stats(String name) {
    requireNonEmpty("name", name);
    return stats(name, clock.nanoTime());
  }

  private Optional<LimitStats> stats(String name, long nowNanos) {
    for (; ; ) {
      KeyedBucket bucket = buckets.like(name, nowNanos);
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
    UnitScale scale = bucket.epochScale.scale();
    long level =
        BucketMath.level(fullAt, bucket.epochScale.unitsAt(nowNanos), scale.capacityUnits());
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
  public boolean hasBucket(String name) {
    requireNonEmpty("name", name);
    return buckets.present(name) != null;
  }

  @Override
  public int size() {
    return buckets.size();
  }

  /** Returns the number of shared epoch scales; for tests. */
  public int epochScales() {
    return buckets.epochScales();
  }

  @Override
  public String toString() {
    return "Limits[size=" + size() + "]";
  }
}
