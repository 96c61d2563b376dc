package dev.sluice;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** Costs of requests for several limits. */
final class Costs {
  private Costs() {}

  /** The same tokens of each limit. */
  static Map<String, Long> each(Collection<String> names, long tokens) {
    Map<String, Long> costs = new LinkedHashMap<>();
    names.forEach(name -> costs.put(name, tokens));
    return costs;
  }
}
