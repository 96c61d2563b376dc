package dev.sluice.governor.internal.monitor;

import dev.sluice.governor.GovernorStatus;
import dev.sluice.governor.ProviderAdjustment;
import dev.sluice.governor.ProviderResponse;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Learns from a provider's answers how much less than what is configured it takes. Thread-safe. */
public final class ProviderFeedback {
  /*
   * State. `learned` is what calls have shown: lowered by a factor when the provider refuses one,
   * raised by a little after so many clean answers. `said` is what the provider's limit leaves of
   * the configured rate, 1 if it names none. The smaller of both is in force, so that neither ever
   * lets through more than what is configured.
   *
   * Why these figures. A provider's own limit is a bucket as well: it fills while we send less than
   * it takes and drains while we send more, so that a saw around its limit loses nothing as long as
   * its teeth fit into the bucket, and a twentieth if it has none. The result depends on how often a tooth
   * ends in refusals: a decrease of a tenth, won back in steps of 1/200 of at least 20 clean
   * answers each, is 300 answers for one refusal or two, at any load. Counting answers and not only
   * time keeps that so when there are few.
   *
   * A refusal also stops everything for a moment and empties the bucket here: what the refused call
   * gets back would be granted at once otherwise, and refused again.
   */
  private static final double DECREASE = 0.9;
  private static final double INCREASE = 0.005;
  private static final double LEAST_FACTOR = 0.05;
  private static final int CLEAN_ANSWERS = 20;
  private static final long SECOND_NANOS = 1_000_000_000L;

  /** Refusals of calls that were under way at the first are no news. */
  private static final long DECREASE_NANOS = 10 * SECOND_NANOS;

  private static final long INCREASE_NANOS = 10 * SECOND_NANOS;
  private static final Duration USUAL_PAUSE = Duration.ofSeconds(2);

  /** Some answer with a day; the first call after this finds out whether it was meant. */
  private static final Duration LONGEST_PAUSE = Duration.ofMinutes(5);

  private static final int TOO_MANY_REQUESTS = 429;
  private static final int UNAVAILABLE = 503;
  private static final int OVERLOADED = 529;

  // Guarded by this.
  private double learned = 1;
  private double said = 1;
  private long drift;
  private long throttled;
  private boolean everDecreased;
  private long decreasedAt;
  private int clean;
  private long cleanSince;
  private boolean paused;
  private long pausedUntil;

  /**
   * Returns the adjustment that holds from now on.
   *
   * @param answer of any call
   * @param targetTpm what is configured
   * @param available what the model has left here
   * @param now nanoseconds, of the same clock every time
   * @param wallNow for headers with a date
   */
  public synchronized ProviderAdjustment answer(
      ProviderResponse answer, long targetTpm, long available, long now, Instant wallNow) {
    ProviderRateLimitHeaders signals = ProviderRateLimitHeaders.of(answer, wallNow);
    ProviderRateLimitHeaders.HeaderQuota tokens = signals.tokens();
    hearLimit(tokens.limit(), targetTpm, now);
    Long atMost = tokens.remaining();
    if (atMost != null) {
      drift = available - atMost;
    }
    if (answer.status() == TOO_MANY_REQUESTS) {
      throttled++;
      refused(signals, now);
      atMost = atMost == null && !requestsUsedUp(signals) ? Long.valueOf(0) : atMost;
    } else if (answer.status() == OVERLOADED || answer.status() == UNAVAILABLE) {
      pause(signals.retryAfter(), now);
    } else if (answer.status() < 300) {
      accepted(now);
    }
    pause(untilNextRequest(signals.requests()), now);
    return new ProviderAdjustment(factor(), atMost, pauseLeft(now));
  }

  /** A limit that is lower than what was gone by until now explains refusals around this time. */
  private void hearLimit(@Nullable Long limit, long targetTpm, long now) {
    if (limit == null) {
      return;
    }
    double before = factor();
    said = Math.min(1, Math.max(LEAST_FACTOR, (double) limit / targetTpm));
    if (said < before) {
      decreased(now);
    }
  }

  private void refused(ProviderRateLimitHeaders signals, long now) {
    clean = 0;
    cleanSince = now;
    pause(refusalPause(signals), now);
    boolean underWay = everDecreased && now - decreasedAt < DECREASE_NANOS;
    if (!underWay && !requestsUsedUp(signals)) {
      learned = Math.max(LEAST_FACTOR, factor() * DECREASE);
      decreased(now);
    }
  }

  private void decreased(long now) {
    everDecreased = true;
    decreasedAt = now;
  }

  /** Too many requests of any size: fewer tokens would be no answer to that. */
  private static boolean requestsUsedUp(ProviderRateLimitHeaders signals) {
    Long requests = signals.requests().remaining();
    Long tokens = signals.tokens().remaining();
    return requests != null && requests == 0 && (tokens == null || tokens > 0);
  }

  private static Duration refusalPause(ProviderRateLimitHeaders signals) {
    Duration asked = signals.retryAfter();
    if (asked != null && !asked.isZero()) {
      return asked;
    }
    Duration reset = signals.tokens().reset();
    boolean sooner = reset != null && !reset.isZero() && reset.compareTo(USUAL_PAUSE) < 0;
    return reset != null && sooner ? reset : USUAL_PAUSE;
  }

  private void accepted(long now) {
    if (clean == 0) {
      cleanSince = now;
    }
    clean++;
    if (clean >= CLEAN_ANSWERS && now - cleanSince >= INCREASE_NANOS) {
      learned = Math.min(1, learned + INCREASE);
      clean = 0;
    }
  }

  /** All requests are there again after the reset, so the next is after its part of it. */
  private static @Nullable Duration untilNextRequest(
      ProviderRateLimitHeaders.HeaderQuota requests) {
    Long limit = requests.limit();
    Long remaining = requests.remaining();
    Duration reset = requests.reset();
    return limit == null || remaining == null || remaining > 0 || reset == null
        ? null
        : reset.dividedBy(limit);
  }

  private void pause(@Nullable Duration asked, long now) {
    if (asked == null) {
      return;
    }
    long nanos = (asked.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : asked).toNanos();
    long until = now + nanos;
    if (!paused || until - pausedUntil > 0) {
      pausedUntil = until;
      paused = true;
    }
  }

  private Duration pauseLeft(long now) {
    long left = paused ? pausedUntil - now : 0;
    paused = left > 0;
    return paused ? Duration.ofNanos(left) : Duration.ZERO;
  }

  private double factor() {
    return Math.min(learned, said);
  }

  /** Returns the effect on the budget so far. */
  public synchronized GovernorStatus.Provider status() {
    return new GovernorStatus.Provider(factor(), drift, throttled);
  }
}
