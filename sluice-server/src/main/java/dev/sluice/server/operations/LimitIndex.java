package dev.sluice.server.operations;

import dev.sluice.redis.Rule;
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

  static LimitIndex of(List<Rule> rules) {
    SortedMap<String, Rate> all = new TreeMap<>();
    rules.forEach(each -> all.put(each.key(), new Rate(each.ratePerSecond(), each.burst())));
    List<Integer> prefixes =
        rules.stream()
            .filter(Rule::isTemplate)
            .map(each -> each.key().length() - 1)
            .distinct()
            .sorted(Comparator.reverseOrder())
            .toList();
    return new LimitIndex(Collections.unmodifiableSortedMap(all), prefixes);
  }

  /** Returns the limit of a key, its own or by a template; null if there is none. */
  @Nullable Rate find(String key) {
    Rate own = all.get(key);
    return own == null ? template(key) : own;
  }

  /** Of several templates that with the longest prefix counts; null if there is none. */
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
