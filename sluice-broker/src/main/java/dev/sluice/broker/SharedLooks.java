package dev.sluice.broker;

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
final class SharedLooks<A> {
  /** How long an answer is good for. */
  static final long AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** More questions than these share nothing; an answer may have thousands of keys. */
  static final int MAX_QUESTIONS = 16;

  private final NanoClock clock;

  // Guarded by itself; the first to be asked first.
  private final Map<Object, Place<A>> places = new LinkedHashMap<>();

  SharedLooks(NanoClock clock) {
    this.clock = clock;
  }

  /**
   * What somebody found.
   *
   * @param isDear whether others are to have it, too
   */
  record Found<A>(A answer, boolean isDear) {}

  /** Where those meet who ask the same. */
  private static final class Place<A> {
    volatile @Nullable Shared<A> shared;
  }

  private record Shared<A>(A answer, long atNanos) {}

  /** Asks what equals {@code question}. */
  A ask(Object question, Supplier<Found<A>> look) {
    Place<A> place = place(question);
    synchronized (place) {
      Shared<A> shared = place.shared;
      if (shared != null) {
        return shared.answer;
      }
      Found<A> found = look.get();
      if (found.isDear) {
        place.shared = new Shared<>(found.answer, clock.nanoTime());
      }
      return found.answer;
    }
  }

  private Place<A> place(Object question) {
    synchronized (places) {
      long now = clock.nanoTime();
      places.values().removeIf(each -> isOld(each.shared, now));
      Place<A> known = places.get(question);
      if (known != null) {
        return known;
      }
      if (places.size() == MAX_QUESTIONS) {
        places.remove(places.keySet().iterator().next());
      }
      Place<A> place = new Place<>();
      places.put(question, place);
      return place;
    }
  }

  private static boolean isOld(@Nullable Shared<?> shared, long now) {
    return shared != null && now - shared.atNanos >= AGE_NANOS;
  }
}
