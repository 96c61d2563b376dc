package dev.sluice.redis;

import dev.sluice.Limit;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A named limit.
 *
 * @param name a name or a template
 * @param limit its limit
 */
record Named(String name, Limit limit) {
  static Named rate(String name, double perSecond, double burst) {
    return new Named(name, new Limit.Rate(perSecond, burst));
  }

  /** Returns the named limits that a node knows, by name. */
  static List<Named> of(SharedLimits node) {
    return of(node.limits());
  }

  static List<Named> of(Map<String, Limit> limits) {
    return limits.entrySet().stream()
        .map(entry -> new Named(entry.getKey(), entry.getValue()))
        .toList();
  }

  static SortedMap<String, Limit> toMap(Collection<Named> all) {
    SortedMap<String, Limit> limits = new TreeMap<>();
    all.forEach(each -> limits.put(each.name(), each.limit()));
    return limits;
  }
}
