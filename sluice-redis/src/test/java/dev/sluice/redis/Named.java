package dev.sluice.redis;

import dev.sluice.Limit;
import java.util.Collection;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Creates named limits for tests. */
final class Named {
  private Named() {}

  static Map.Entry<String, Limit> rate(String name, double perSecond, double burst) {
    return Map.entry(name, new Limit.Rate(perSecond, burst));
  }

  static SortedMap<String, Limit> limits(Collection<Map.Entry<String, Limit>> entries) {
    SortedMap<String, Limit> limits = new TreeMap<>();
    entries.forEach(entry -> limits.put(entry.getKey(), entry.getValue()));
    return limits;
  }
}
