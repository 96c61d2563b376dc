package dev.sluice.server.operations;

import dev.sluice.Limit;
import dev.sluice.server.auth.AccountQuotas;
import dev.sluice.server.operations.LimitOperations.Rate;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The rates and templates of a fleet, to be asked by key. Immutable.
 *
 * @param all by key or pattern
 * @param prefixes how long those of templates are, the longest first
 */
record LimitIndex(SortedMap<String, Rate> all, List<Integer> prefixes) {
  static final LimitIndex NONE = new LimitIndex(Collections.emptySortedMap(), List.of());

  static LimitIndex of(SortedMap<String, Limit> limits) {
    SortedMap<String, Rate> all = new TreeMap<>();
    limits.forEach((name, limit) -> all.put(name, rate(limit)));
    List<Integer> prefixes =
        all.keySet().stream()
            .filter(AccountQuotas::isTemplate)
            .map(name -> name.length() - 1)
            .distinct()
            .sorted(Comparator.reverseOrder())
            .toList();
    return new LimitIndex(Collections.unmodifiableSortedMap(all), prefixes);
  }

  /** Returns the rate of a named limit; it may have been set by a library of the fleet. */
  static Rate rate(Limit limit) {
    if (limit instanceof Limit.Rate rate) {
      return new Rate(rate.perSecond(), rate.burst());
    }
    double perSecond =
        limit instanceof Limit.Balanced balanced
            ? balanced.refillTokens() * 1e9 / balanced.refillPeriod().toNanos()
            : 0;
    return new Rate(perSecond, limit.capacity());
  }

  /** Returns the limit of a key, its own or by a template; null if there is none. */
  @Nullable Rate find(String key) {
    Rate own = all.get(key);
    return own == null ? template(key) : own;
  }

  /** Returns the template with the longest matching prefix; null if there is none. */
  @Nullable Rate template(String key) {
    for (int length : prefixes) {
      Rate rate = length > key.length() ? null : all.get(key.substring(0, length) + "*");
      if (rate != null) {
        return rate;
      }
    }
    return null;
  }
}
