package dev.sluice.redis.internal.limits;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** Checks names, costs and waits of requests. */
public final class CostChecks {
  private CostChecks() {}

  /** Returns the costs of one token of each name. */
  public static Map<String, Long> oneOfEach(Collection<String> names) {
    Map<String, Long> costs = new LinkedHashMap<>();
    for (String name : names) {
      costs.put(requireName(name), 1L);
    }
    return costs;
  }

  static void require(Map<String, Long> costs) {
    costs.forEach(
        (name, cost) -> {
          requireName(name);
          if (cost < 1) {
            throw new IllegalArgumentException("cost must be positive, but was " + cost);
          }
        });
  }

  /**
   * Checks a name.
   *
   * @throws IllegalArgumentException if it is empty
   */
  public static String requireName(String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("name must not be empty");
    }
    return name;
  }

  static long requireTokens(long tokens) {
    if (tokens < 0) {
      throw new IllegalArgumentException("tokens must not be negative, but was " + tokens);
    }
    return tokens;
  }

  static void requireWait(Duration maxWait) {
    if (maxWait.isNegative()) {
      throw new IllegalArgumentException("maxWait must not be negative, but was " + maxWait);
    }
  }
}
