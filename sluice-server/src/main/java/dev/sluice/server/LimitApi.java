package dev.sluice.server;

import dev.sluice.Throttle;
import dev.sluice.ThrottleDecision;
import dev.sluice.server.Permission.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Limits by key: sets them and decides. Their keys have nothing to do with those of queues.
 *
 * <p>Thread-safe. Limits are kept in a {@link ListFile}, and a change is on disk before it counts.
 * What was consumed is not kept: after a restart every key starts empty.
 */
final class LimitApi {
  static final int MAX_KEYS = 64;
  static final String FILE = "limits.json";

  /** Every change writes all limits. */
  static final int MAX_LIMITS = 10_000;

  /** A key without a bucket is held against every template. */
  static final int MAX_TEMPLATES = 1_000;

  /** Keys that templates made and that are not full yet, at a few hundred bytes each. */
  private static final int MAX_BUCKETS = 1_000_000;

  private static final int MAX_KEY_BYTES = 256;
  private static final String TEMPLATE_END = "*";

  private final Throttle throttle;
  private final ListFile<Stored> file;
  private final int maxBuckets;
  private final DecisionCounts decisions = new DecisionCounts();

  /** Replaced as a whole, under the lock; read without. */
  private volatile SortedMap<String, Rate> limits = Collections.emptySortedMap();

  /**
   * What a key may have.
   *
   * @param perSecond tokens that accrue in a second
   * @param burst the most tokens held
   */
  record Rate(double perSecond, double burst) {}

  /**
   * A limit as it is kept.
   *
   * @param key or a prefix and an asterisk
   * @param perSecond as in {@link Rate}
   * @param burst as in {@link Rate}
   */
  record Stored(String key, double perSecond, double burst) {}

  private LimitApi(Throttle throttle, ListFile<Stored> file, int maxBuckets) {
    this.throttle = throttle;
    this.file = file;
    this.maxBuckets = maxBuckets;
  }

  /**
   * Restores what is there.
   *
   * @throws IOException if the file cannot be read or is damaged
   */
  static LimitApi open(Path directory) throws IOException {
    return open(directory, Throttle.create(), MAX_BUCKETS);
  }

  static LimitApi open(Path directory, Throttle throttle, int maxBuckets) throws IOException {
    ListFile<Stored> file = new ListFile<>(directory, "limits", Stored.class);
    LimitApi limits = new LimitApi(throttle, file, maxBuckets);
    limits.restore();
    return limits;
  }

  private void restore() throws IOException {
    SortedMap<String, Rate> found = new TreeMap<>();
    for (Stored each : file.read()) {
      try {
        if (isTemplate(each.key())) {
          throttle.restoreTemplate(each.key(), each.perSecond(), each.burst());
        } else {
          throttle.restoreRate(each.key(), each.perSecond(), each.burst());
        }
      } catch (IllegalArgumentException invalid) {
        throw file.damaged(String.valueOf(invalid.getMessage()), invalid);
      }
      found.put(each.key(), new Rate(each.perSecond(), each.burst()));
    }
    limits = Collections.unmodifiableSortedMap(found);
  }

  /** Takes all of {@code costs} or none; nothing at all if {@code dryRun}. */
  ThrottleDecision decide(Caller caller, Map<String, Long> costs, boolean dryRun) {
    if (costs.isEmpty() || costs.size() > MAX_KEYS) {
      throw ApiException.invalid(
          "costs must name 1 to %d keys: %d".formatted(MAX_KEYS, costs.size()));
    }
    for (String key : costs.keySet()) {
      requireKey(key);
      caller.require(Kind.LIMIT, key);
      if (!throttle.hasBucket(key)) {
        requireLimit(key);
      }
    }
    if (dryRun) {
      return throttle.peek(costs);
    }
    ThrottleDecision decision = throttle.consume(costs);
    decisions.add(decision);
    return decision;
  }

  /** Dry runs do not count. */
  DecisionCounts decisions() {
    return decisions;
  }

  private void requireLimit(String key) {
    if (throttle.snapshot(key).isEmpty()) {
      throw ApiException.notFound("there is no limit for the key: " + key);
    }
    if (throttle.size() >= maxBuckets) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "at most %d keys may be in use: %s".formatted(maxBuckets, key));
    }
  }

  /** Forgets keys that are full again if there are as many as may be; to be called now and then. */
  void makeRoom() {
    if (throttle.size() >= maxBuckets) {
      throttle.evictIdle();
    }
  }

  /** How a key stands that the caller has just been answered for. */
  Optional<Throttle.Snapshot> snapshot(String key) {
    return throttle.snapshot(key);
  }

  synchronized void set(Caller caller, String key, Rate rate) {
    caller.require(Kind.ADMIN, key);
    requireKey(key);
    // What the throttle would not take must not get into the file.
    apply(Throttle.create(), key, rate);
    SortedMap<String, Rate> next = new TreeMap<>(limits);
    if (next.put(key, rate) == null) {
      requireFew(next);
    }
    save(next);
    apply(throttle, key, rate);
  }

  private static void apply(Throttle to, String key, Rate rate) {
    if (isTemplate(key)) {
      to.setTemplate(key, rate.perSecond(), rate.burst());
    } else {
      to.setRate(key, rate.perSecond(), rate.burst());
    }
  }

  private static boolean isTemplate(String key) {
    return key.endsWith(TEMPLATE_END);
  }

  private static void requireFew(SortedMap<String, Rate> all) {
    long templates = all.keySet().stream().filter(LimitApi::isTemplate).count();
    if (all.size() > MAX_LIMITS || templates > MAX_TEMPLATES) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "there must be at most %d limits, and %d templates; remove some"
              .formatted(MAX_LIMITS, MAX_TEMPLATES));
    }
  }

  private void save(SortedMap<String, Rate> next) {
    List<Stored> all = new ArrayList<>(next.size());
    next.forEach((key, rate) -> all.add(new Stored(key, rate.perSecond(), rate.burst())));
    try {
      file.write(all);
    } catch (IOException failure) {
      throw new UncheckedIOException("limits could not be stored", failure);
    }
    limits = Collections.unmodifiableSortedMap(next);
  }

  synchronized void remove(Caller caller, String key) {
    caller.require(Kind.ADMIN, key);
    SortedMap<String, Rate> next = new TreeMap<>(limits);
    if (next.remove(key) == null) {
      throw ApiException.notFound("there is no limit of that key: " + key);
    }
    save(next);
    if (isTemplate(key)) {
      throttle.removeTemplate(key);
    } else {
      throttle.removeRate(key);
    }
  }

  SortedMap<String, Rate> list(Caller caller) {
    SortedMap<String, Rate> found = new TreeMap<>(limits);
    found.keySet().removeIf(key -> !caller.may(Kind.ADMIN, key));
    return Collections.unmodifiableSortedMap(found);
  }

  private static void requireKey(String key) {
    int bytes = key.getBytes(StandardCharsets.UTF_8).length;
    if (bytes < 1 || bytes > MAX_KEY_BYTES) {
      throw ApiException.invalid("key must have 1 to %d bytes: %d".formatted(MAX_KEY_BYTES, bytes));
    }
  }
}
