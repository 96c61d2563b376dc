package dev.sluice.broker.internal.runtime;

import dev.sluice.NanoClock;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Shares the result of an expensive query between callers with equal keys for a second.
 * Thread-safe; a caller blocks while another one runs the same query.
 *
 * @param <A> the answers
 */
public final class QueryCache<A> {
  /** How long a result is shared. */
  public static final long AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The most keys with a shared result; a result may have thousands of fairness keys. */
  public static final int MAX_QUESTIONS = 16;

  private final NanoClock clock;

  // Guarded by itself; the first to be asked first.
  private final Map<Object, QueryCache.CacheSlot<A>> slots = new LinkedHashMap<>();

  public QueryCache(NanoClock clock) {
    this.clock = clock;
  }

  /**
   * The result of a query.
   *
   * @param isExpensive whether to share the result
   */
  public record CachedResult<A>(A result, boolean isExpensive) {}

  /** Where callers with equal keys share a result. */
  private static final class CacheSlot<A> {
    volatile QueryCache.@Nullable SharedQuery<A> result;
  }

  private record SharedQuery<A>(A result, long atNanos) {}

  /** Returns the shared result of an equal key, or runs {@code look}. */
  public A get(Object request, Supplier<QueryCache.CachedResult<A>> look) {
    QueryCache.CacheSlot<A> place = slot(request);
    synchronized (place) {
      QueryCache.SharedQuery<A> shared = place.result;
      if (shared != null) {
        return shared.result;
      }
      QueryCache.CachedResult<A> found = look.get();
      if (found.isExpensive) {
        place.result = new QueryCache.SharedQuery<>(found.result, clock.nanoTime());
      }
      return found.result;
    }
  }

  private QueryCache.CacheSlot<A> slot(Object request) {
    synchronized (slots) {
      long now = clock.nanoTime();
      slots.values().removeIf(each -> isOld(each.result, now));
      QueryCache.CacheSlot<A> known = slots.get(request);
      if (known != null) {
        return known;
      }
      if (slots.size() == MAX_QUESTIONS) {
        slots.remove(slots.keySet().iterator().next());
      }
      QueryCache.CacheSlot<A> place = new QueryCache.CacheSlot<>();
      slots.put(request, place);
      return place;
    }
  }

  private static boolean isOld(QueryCache.@Nullable SharedQuery<?> shared, long now) {
    return shared != null && now - shared.atNanos >= AGE_NANOS;
  }
}
