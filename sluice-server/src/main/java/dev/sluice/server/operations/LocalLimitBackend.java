package dev.sluice.server.operations;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.LimitStats;
import dev.sluice.Limits;
import dev.sluice.server.operations.LimitOperations.Rate;
import dev.sluice.server.support.ApiException;
import dev.sluice.server.support.ErrorKind;
import dev.sluice.server.support.JsonListFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Limits of this server alone.
 *
 * <p>Thread-safe. They are kept in a {@link JsonListFile}, and a change is on disk before it takes
 * effect. Levels are not stored: after a restart every limit starts empty. Operations are complete
 * when their call returns.
 */
public final class LocalLimitBackend implements LimitBackend {
  public static final String FILE = "limits.json";

  /** The estimated heap of a key that a template made. */
  private static final long BUCKET_BYTES = 500;

  /**
   * The most keys that templates made and that are not full: a fourth of the heap, at most a
   * million.
   */
  static final int MAX_BUCKETS =
      (int) Math.min(1_000_000, Runtime.getRuntime().maxMemory() / 4 / BUCKET_BYTES);

  private final Limits throttle;
  private final JsonListFile<LocalLimitBackend.StoredLimit> file;
  private final int maxBuckets;

  /** Replaced as a whole, under the lock; read without. */
  private volatile SortedMap<String, Rate> limits = Collections.emptySortedMap();

  /**
   * A limit as it is kept.
   *
   * @param key or a prefix and an asterisk
   * @param perSecond as in {@link Rate}
   * @param burst as in {@link Rate}
   */
  public record StoredLimit(String key, double perSecond, double burst) {}

  private LocalLimitBackend(
      Limits throttle, JsonListFile<LocalLimitBackend.StoredLimit> file, int maxBuckets) {
    this.throttle = throttle;
    this.file = file;
    this.maxBuckets = maxBuckets;
  }

  /**
   * Restores the stored limits.
   *
   * @throws IOException if the file cannot be read or is damaged
   */
  public static LocalLimitBackend open(Path directory, Limits throttle, int maxBuckets)
      throws IOException {
    JsonListFile<LocalLimitBackend.StoredLimit> file =
        new JsonListFile<>(directory, "limits", LocalLimitBackend.StoredLimit.class);
    LocalLimitBackend limits = new LocalLimitBackend(throttle, file, maxBuckets);
    limits.restore();
    return limits;
  }

  private void restore() throws IOException {
    SortedMap<String, Rate> found = new TreeMap<>();
    for (LocalLimitBackend.StoredLimit each : file.read()) {
      try {
        throttle.restore(each.key(), Limit.ofRate(each.perSecond(), each.burst()));
      } catch (IllegalArgumentException invalid) {
        throw file.damaged(String.valueOf(invalid.getMessage()), invalid);
      }
      found.put(each.key(), new Rate(each.perSecond(), each.burst()));
    }
    limits = Collections.unmodifiableSortedMap(found);
  }

  @Override
  public @Nullable Rate requireLimit(String key) {
    if (limits.containsKey(key)) {
      return null;
    }
    LimitStats found = throttle.stats(key).orElseThrow(() -> LimitOperations.noLimitFor(key));
    if (throttle.size() >= maxBuckets && !throttle.hasBucket(key)) {
      throw new ApiException(
          ErrorKind.RESOURCE_EXHAUSTED,
          "at most %d limit names may be in use: cannot use %s".formatted(maxBuckets, key));
    }
    return Rate.of(found.limit());
  }

  @Override
  public boolean mayStore(String key) {
    return throttle.hasBucket(key);
  }

  @Override
  public CompletableFuture<Decision> consume(Map<String, Long> costs) {
    return CompletableFuture.completedFuture(throttle.decide(costs));
  }

  @Override
  public CompletableFuture<Decision> peek(Map<String, Long> costs) {
    return CompletableFuture.completedFuture(throttle.peek(costs));
  }

  @Override
  public CompletableFuture<List<Standing>> standings(Collection<String> keys) {
    List<Standing> known = new ArrayList<>(keys.size());
    for (String key : keys) {
      throttle
          .stats(key)
          .ifPresent(at -> known.add(new Standing(key, Rate.of(at.limit()), at.level())));
    }
    return CompletableFuture.completedFuture(known);
  }

  @Override
  public synchronized CompletableFuture<Void> set(String key, Rate rate) {
    SortedMap<String, Rate> next = new TreeMap<>(limits);
    if (next.put(key, rate) == null) {
      LimitOperations.requireFew(next.keySet());
    }
    save(next);
    rate.applyTo(throttle, key);
    return CompletableFuture.allOf();
  }

  private void save(SortedMap<String, Rate> next) {
    List<LocalLimitBackend.StoredLimit> all = new ArrayList<>(next.size());
    next.forEach(
        (key, rate) ->
            all.add(new LocalLimitBackend.StoredLimit(key, rate.perSecond(), rate.burst())));
    try {
      file.write(all);
    } catch (IOException failure) {
      throw file.notStored(failure);
    }
    limits = Collections.unmodifiableSortedMap(next);
  }

  @Override
  public synchronized CompletableFuture<Boolean> remove(String key) {
    SortedMap<String, Rate> next = new TreeMap<>(limits);
    if (next.remove(key) == null) {
      return CompletableFuture.completedFuture(false);
    }
    save(next);
    throttle.remove(key);
    return CompletableFuture.completedFuture(true);
  }

  @Override
  public SortedMap<String, Rate> limits() {
    return limits;
  }

  /** Forgets keys that are full again if there are as many as may be. */
  @Override
  public void makeRoom() {
    if (throttle.size() >= maxBuckets) {
      throttle.evictIdle();
    }
  }

  @Override
  public void close() {
    // Every change is on disk.
  }
}
