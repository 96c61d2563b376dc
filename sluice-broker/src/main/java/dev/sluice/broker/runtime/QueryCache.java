package dev.sluice.broker.runtime;

import dev.sluice.NanoClock;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets those who ask the same within a second share an answer that was dear, so that many cost what
 * one does. Thread-safe; whoever asks while another looks waits for what that one finds.
 *
 * @param <A> the answers
 */
public final class QueryCache<A> {
  /** How long an answer is good for. */
  public static final long AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** More questions than these share nothing; an answer may have thousands of keys. */
  public static final int MAX_QUESTIONS = 16;

  private final NanoClock clock;

  // Guarded by itself; the first to be asked first.
  private final Map<Object, QueryCache.CacheSlot<A>> places = new LinkedHashMap<>();

  public QueryCache(NanoClock clock) {
    this.clock = clock;
  }

  /**
   * What somebody found.
   *
   * @param isExpensive whether others are to have it, too
   */
  public record CachedResult<A>(A answer, boolean isExpensive) {}

  /** Where those meet who ask the same. */
  private static final class CacheSlot<A> {
    volatile QueryCache.@Nullable SharedQuery<A> shared;
  }

  private record SharedQuery<A>(A answer, long atNanos) {}

  /** Asks what equals {@code question}. */
  public A get(Object question, Supplier<QueryCache.CachedResult<A>> look) {
    QueryCache.CacheSlot<A> place = place(question);
    synchronized (place) {
      QueryCache.SharedQuery<A> shared = place.shared;
      if (shared != null) {
        return shared.answer;
      }
      QueryCache.CachedResult<A> found = look.get();
      if (found.isExpensive) {
        place.shared = new QueryCache.SharedQuery<>(found.answer, clock.nanoTime());
      }
      return found.answer;
    }
  }

  private QueryCache.CacheSlot<A> place(Object question) {
    synchronized (places) {
      long now = clock.nanoTime();
      places.values().removeIf(each -> isOld(each.shared, now));
      QueryCache.CacheSlot<A> known = places.get(question);
      if (known != null) {
        return known;
      }
      if (places.size() == MAX_QUESTIONS) {
        places.remove(places.keySet().iterator().next());
      }
      QueryCache.CacheSlot<A> place = new QueryCache.CacheSlot<>();
      places.put(question, place);
      return place;
    }
  }

  private static boolean isOld(QueryCache.@Nullable SharedQuery<?> shared, long now) {
    return shared != null && now - shared.atNanos >= AGE_NANOS;
  }
}
