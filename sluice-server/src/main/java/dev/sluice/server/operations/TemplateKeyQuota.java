package dev.sluice.server.operations;

import dev.sluice.NanoClock;
import dev.sluice.server.auth.Caller;
import dev.sluice.server.auth.ConcurrencyQuota;
import dev.sluice.server.operations.LimitOperations.Rate;
import dev.sluice.server.support.ApiException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Limits how many keys templates make, of all callers together and of one account. Each takes
 * memory of this server or of Redis, from its first decision until time has refilled it.
 *
 * <p>A key counts against the account that used it first. Its {@link TemplateKeyQuota.KeyUse} has
 * the time at which it is full if every call so far was granted; a call that was denied counts too,
 * so a key may count for longer than it is stored, never for longer than an empty bucket takes to
 * fill. Servers that share a Redis count each for itself.
 *
 * <p>Thread-safe.
 */
public final class TemplateKeyQuota {
  /** The share of one account: one part in this many. */
  private static final int ACCOUNTS = 4;

  /**
   * The longest time until a bucket is full; longer ones, such as that of a rate of 0, are cut: 36
   * years.
   */
  private static final long LONGEST_NANOS = 1L << 60;

  private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

  private final ConcurrencyQuota share;
  private final NanoClock clock;

  /** Changed under the lock. */
  private final Map<String, TemplateKeyQuota.KeyUse> uses = new ConcurrentHashMap<>();

  /** A key that is not full. */
  private static final class KeyUse {
    private final ConcurrencyQuota.Hold place;

    /** Written under the lock. */
    private volatile long fullAt;

    KeyUse(ConcurrencyQuota.Hold place, long now) {
      this.place = place;
      this.fullAt = now;
    }

    boolean isOver(long now) {
      return fullAt - now <= 0;
    }

    void spend(long cost, Rate rate, long now) {
      // A negative cost is refused later.
      long owed = Math.max(0, fullAt - now) + nanosFor((double) Math.max(0, cost), rate);
      fullAt = now + Math.min(owed, nanosFor(rate.burst(), rate));
    }

    private static long nanosFor(double tokens, Rate rate) {
      return (long) Math.min(LONGEST_NANOS, tokens / rate.perSecond() * NANOS_PER_SECOND);
    }
  }

  public TemplateKeyQuota(int most, NanoClock clock) {
    this.share = new ConcurrencyQuota("names of templates in use", most, most / ACCOUNTS);
    this.clock = clock;
  }

  /**
   * Counts the keys of a call, before it is decided.
   *
   * @param rates of those keys of {@code costs} that a template makes
   * @throws ApiException if there are too many; then none of them counts
   */
  public synchronized void use(Caller caller, Map<String, Rate> rates, Map<String, Long> costs) {
    long now = clock.nanoTime();
    List<String> added = new ArrayList<>();
    try {
      for (String key : rates.keySet()) {
        TemplateKeyQuota.KeyUse known = uses.get(key);
        if (known == null || known.isOver(now)) {
          forget(key);
          uses.put(key, new TemplateKeyQuota.KeyUse(share.take(caller), now));
          added.add(key);
        }
      }
    } catch (ApiException full) {
      added.forEach(this::forget);
      throw full;
    }
    rates.forEach(
        (key, rate) ->
            Objects.requireNonNull(uses.get(key)).spend(costs.getOrDefault(key, 0L), rate, now));
  }

  private void forget(String key) {
    TemplateKeyQuota.KeyUse gone = uses.remove(key);
    if (gone != null) {
      gone.place.close();
    }
  }

  /** Forgets the keys that are full, and those that are not {@code stored} any more. */
  public void makeRoom(Predicate<String> stored) {
    long now = clock.nanoTime();
    uses.forEach(
        (key, use) -> {
          if (use.isOver(now) || !stored.test(key)) {
            forgetUnlessUsed(key, use, now, stored);
          }
        });
  }

  private synchronized void forgetUnlessUsed(
      String key, TemplateKeyQuota.KeyUse use, long now, Predicate<String> stored) {
    if (uses.get(key) == use && (use.isOver(now) || !stored.test(key))) {
      forget(key);
    }
  }

  public int count() {
    return share.held();
  }
}
