package dev.sluice.internal.limits;

import dev.sluice.Limit;
import dev.sluice.NanoClock;
import dev.sluice.internal.bucket.BucketLevel;
import dev.sluice.internal.bucket.EpochScale;
import dev.sluice.internal.bucket.UnitScale;
import java.util.Collection;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The buckets of a throttle by key: which one serves, and how another takes its place.
 *
 * <p>Thread-safe. Looking up a bucket that is there takes no lock.
 */
public final class BucketTable {
  /*
   * Invariant. A key has at most one bucket that is not sealed, the one in the map. A bucket's
   * full-at is never earlier than that of any bucket the same key had before, unless a rate was
   * removed.
   *
   * State. A bucket leaves the map in one of three ways:
   *
   *   replaced (other limit, later epoch)   LOCK   map.replace   SEAL
   *   removed  (no rule left)               LOCK   map.remove    SEAL
   *   evicted  (full, made by a template)   SEAL   lastFull      map.remove
   *
   * so one that is sealed and yet in the map is being evicted, and any thread can finish that.
   *
   * Time. A replacement to another limit converts at an instant read under LOCK: no grant of the
   * old bucket can be later. An evicted bucket leaves its full-at behind in lastFull, one for all
   * keys; a thread that creates a bucket reads it inside the map's computation for that key, and so
   * after any removal of that key. Starting full as of lastFull, the new bucket grants nothing the
   * old one would not have granted: eviction shows in memory only.
   *
   * Restored limits. Keys of a restored template do not start full; the template holds their level,
   * which a change of the limit converts like the level of a bucket. So the bucket of a key is full
   * no earlier than the unused keys of its template, and an evicted key starts full. Once they are
   * full, such a template behaves as any other.
   */
  private final NanoClock clock;

  private final ConcurrentHashMap<String, KeyedBucket> map = new ConcurrentHashMap<>();
  private final SharedEpochScales epochScales = new SharedEpochScales();
  private final AtomicLong ids = new AtomicLong();
  private final IdleBucketEviction sweep = new IdleBucketEviction(map, this::evictIfIdle);
  private final Object rules = new Object();

  /** Written under {@code rules}. */
  private volatile LimitTemplates templates = LimitTemplates.NONE;

  // The latest full-at of an evicted bucket, if any; written under evictions, the flag last.
  private final Object evictions = new Object();
  private volatile long lastFullNanos;
  private volatile boolean evicted;

  public BucketTable(NanoClock clock) {
    this.clock = clock;
  }

  /** The bucket that serves {@code key}, made if need be; null if the key has no limit. */
  public @Nullable KeyedBucket inService(String key, long nowNanos) {
    KeyedBucket bucket = map.get(key);
    return bucket != null && bucket.isCurrent() ? bucket : resolve(key, bucket, nowNanos);
  }

  /** The bucket that serves {@code key}; null also if it has to be made or renewed. */
  @Nullable KeyedBucket present(String key) {
    KeyedBucket bucket = map.get(key);
    return bucket != null && bucket.isCurrent() ? bucket : null;
  }

  /** Returns whether {@code key} has a limit. */
  boolean isKnown(String key) {
    return present(key) != null || templates.match(key) != null;
  }

  /** The bucket that serves {@code key}, or one like that which would be made. */
  @Nullable KeyedBucket like(String key, long nowNanos) {
    KeyedBucket bucket = map.get(key);
    while (bucket != null && !bucket.isCurrent()) {
      rehome(bucket, nowNanos);
      bucket = map.get(key);
    }
    return bucket == null ? fromTemplate(key, nowNanos) : bucket;
  }

  private @Nullable KeyedBucket resolve(String key, @Nullable KeyedBucket found, long nowNanos) {
    KeyedBucket bucket = found;
    for (; ; ) {
      if (bucket != null) {
        rehome(bucket, nowNanos);
        bucket = map.get(key);
      } else if (templates.match(key) == null) {
        return null;
      } else {
        bucket = map.computeIfAbsent(key, absent -> fromTemplate(absent, nowNanos));
        if (bucket == null) {
          return null;
        }
        // A caller's reading from the future would evict buckets that are not full.
        sweep.step(EpochScale.earlier(nowNanos, clock.nanoTime()));
      }
      if (bucket != null && bucket.isCurrent()) {
        return bucket;
      }
    }
  }

  private @Nullable KeyedBucket fromTemplate(String key, long nowNanos) {
    LimitTemplate template = templates.match(key);
    return template == null ? null : unused(key, template, nowNanos);
  }

  private KeyedBucket unused(String key, LimitTemplate template, long nowNanos) {
    return fresh(key, template.scale, template, template.unused, nowNanos);
  }

  /**
   * A bucket that stands so, or full; what is put into the map must be made in a computation for
   * its key.
   */
  private KeyedBucket fresh(
      String key,
      UnitScale scale,
      @Nullable LimitTemplate template,
      @Nullable BucketLevel unused,
      long nowNanos) {
    boolean anyEvicted = evicted;
    long lastNanos = lastFullNanos;
    long atNanos = anyEvicted ? EpochScale.later(nowNanos, lastNanos) : nowNanos;
    atNanos = unused == null ? atNanos : EpochScale.later(atNanos, unused.sinceNanos());
    EpochScale epochScale = epochScales.covering(scale, atNanos);
    long fullAt = anyEvicted ? Math.max(0, epochScale.unitsAt(lastNanos)) : 0;
    if (unused != null) {
      fullAt = Math.max(fullAt, unused.carriedTo(epochScale, atNanos).fullAt());
    }
    return new KeyedBucket(key, epochScale, template, ids.getAndIncrement(), fullAt);
  }

  /** Returns the level of unused keys under another limit of this template; null if full. */
  private @Nullable BucketLevel unused(@Nullable LimitTemplate template, UnitScale scale) {
    BucketLevel before = template == null ? null : template.unused;
    long nowNanos = clock.nanoTime();
    if (before == null || before.isFull(nowNanos)) {
      return null;
    }
    return carry(before, scale, nowNanos);
  }

  private BucketLevel carry(BucketLevel before, UnitScale scale, long nowNanos) {
    long atNanos = EpochScale.later(nowNanos, before.sinceNanos());
    return before.carriedTo(epochScales.covering(scale, atNanos), atNanos);
  }

  private BucketLevel empty(UnitScale scale) {
    long nowNanos = clock.nanoTime();
    return BucketLevel.emptyAt(epochScales.covering(scale, nowNanos), nowNanos);
  }

  /** Replaces a bucket that is sealed or cannot record a grant at the present time. */
  public void renew(KeyedBucket bucket, long nowNanos) {
    if (!bucket.isSealed()) {
      if (!bucket.epochScale.covers(nowNanos)) {
        replace(bucket, bucket.epochScale.scale(), bucket.template, nowNanos);
      }
    } else if (map.get(bucket.key) == bucket) {
      finishEviction(bucket);
    }
  }

  /** Sets the limit of {@code key} alone; a bucket that has to be made is empty. */
  void restore(String key, Limit limit) {
    UnitScale scale = epochScales.scaleOf(limit);
    set(key, scale, clock.nanoTime(), absent -> empty(scale));
  }

  /** Sets the limit of {@code key} alone. */
  public void set(String key, Limit limit, long nowNanos) {
    UnitScale scale = epochScales.scaleOf(limit);
    set(key, scale, nowNanos, absent -> unused(templates.match(absent), scale));
  }

  /** A bucket that has to be made, perhaps after another was removed meanwhile, stands so. */
  private void set(
      String key,
      UnitScale scale,
      long nowNanos,
      Function<String, @Nullable BucketLevel> standing) {
    for (; ; ) {
      KeyedBucket bucket =
          map.computeIfAbsent(
              key, absent -> fresh(absent, scale, null, standing.apply(absent), nowNanos));
      boolean isSet = bucket.template == null && bucket.epochScale.scale().equals(scale);
      if (isSet || replace(bucket, scale, null, nowNanos)) {
        return;
      }
    }
  }

  /** Removes a rate that was set for {@code key} alone; false if there is none. */
  boolean remove(String key, long nowNanos) {
    for (; ; ) {
      KeyedBucket bucket = map.get(key);
      if (bucket == null || bucket.template != null) {
        return false;
      }
      if (rehome(bucket, nowNanos)) {
        return true;
      }
    }
  }

  public void setTemplate(String prefix, Limit limit) {
    UnitScale scale = epochScales.scaleOf(limit);
    synchronized (rules) {
      LimitTemplate present = templates.withPrefix(prefix);
      if (present == null || !present.scale.equals(scale)) {
        BucketLevel unused = unused(templates.match(prefix), scale);
        publish(templates.with(new LimitTemplate(prefix, scale, unused)));
      }
    }
  }

  /** Sets a template whose keys are empty now, but for those that have a bucket. */
  void restoreTemplate(String prefix, Limit limit) {
    UnitScale scale = epochScales.scaleOf(limit);
    synchronized (rules) {
      publish(templates.with(new LimitTemplate(prefix, scale, empty(scale))));
    }
  }

  boolean removeTemplate(String prefix) {
    synchronized (rules) {
      boolean found = templates.withPrefix(prefix) != null;
      if (found) {
        publish(templates.without(prefix));
      }
      return found;
    }
  }

  private void publish(LimitTemplates next) {
    LimitTemplates last = templates;
    templates = next;
    last.retireAllBut(next);
  }

  /** Puts {@code bucket} under the template its key now has, or out of the map. */
  private boolean rehome(KeyedBucket bucket, long nowNanos) {
    LimitTemplate template = templates.match(bucket.key);
    if (template != null) {
      return replace(bucket, template.scale, template, nowNanos);
    }
    if (!bucket.lock()) {
      renew(bucket, nowNanos);
      return false;
    }
    try {
      map.remove(bucket.key, bucket);
    } finally {
      bucket.unlockSealed();
    }
    return true;
  }

  /** Replaces the bucket, keeping and clamping its tokens; false if it was no longer in the map. */
  private boolean replace(
      KeyedBucket bucket, UnitScale scale, @Nullable LimitTemplate template, long nowNanos) {
    if (!bucket.lock()) {
      renew(bucket, nowNanos);
      return false;
    }
    boolean replaced = false;
    try {
      BucketLevel before = new BucketLevel(bucket.epochScale, bucket.fullAt());
      BucketLevel next = carry(before, scale, EpochScale.later(nowNanos, clock.nanoTime()));
      map.replace(
          bucket.key,
          bucket,
          new KeyedBucket(
              bucket.key, next.epochScale(), template, ids.getAndIncrement(), next.fullAt()));
      replaced = true;
    } finally {
      if (replaced) {
        bucket.unlockSealed();
      } else {
        bucket.unlock();
      }
    }
    return true;
  }

  /** Evicts all idle buckets; how many. */
  long evictIdle(long nowNanos) {
    return sweep.all(nowNanos);
  }

  private boolean evictIfIdle(KeyedBucket bucket, long nowNanos) {
    if (bucket.template == null) {
      return false;
    }
    if (!bucket.isCurrent()) {
      rehome(bucket, nowNanos);
      return false;
    }
    if (bucket.epochScale.scale().refills() && bucket.sealIfFull(nowNanos)) {
      finishEviction(bucket);
      return true;
    }
    return false;
  }

  private void finishEviction(KeyedBucket bucket) {
    long fullNanos = bucket.fullAtNanos();
    synchronized (evictions) {
      lastFullNanos = evicted ? EpochScale.later(lastFullNanos, fullNanos) : fullNanos;
      evicted = true;
    }
    map.remove(bucket.key, bucket);
  }

  /** Returns the limits that were set, by name; a template's name is its prefix and an asterisk. */
  SortedMap<String, Limit> limits() {
    SortedMap<String, Limit> limits = new TreeMap<>();
    for (KeyedBucket bucket : map.values()) {
      if (bucket.template == null) {
        limits.put(bucket.key, bucket.epochScale.scale().limit());
      }
    }
    for (LimitTemplate template : templates.longestFirst()) {
      limits.put(template.prefix + "*", template.scale.limit());
    }
    return limits;
  }

  Collection<KeyedBucket> all() {
    return map.values();
  }

  public int size() {
    return (int) Math.min(Integer.MAX_VALUE, map.mappingCount());
  }

  /** Axes held for sharing. */
  int epochScales() {
    return epochScales.size();
  }
}
