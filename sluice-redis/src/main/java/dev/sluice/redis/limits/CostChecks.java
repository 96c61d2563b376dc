package dev.sluice.redis.limits;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a request costs, by key. */
public final class CostChecks {
  private CostChecks() {}

  public static Map<String, Long> ofOne(Collection<String> keys) {
    Map<String, Long> costs = new LinkedHashMap<>();
    for (String key : keys) {
      costs.put(requireKey(key), 1L);
    }
    return costs;
  }

  static void require(Map<String, Long> costs) {
    costs.forEach(
        (key, cost) -> {
          requireKey(key);
          if (cost < 1) {
            throw new IllegalArgumentException("cost must be positive: cost=" + cost);
          }
        });
  }

  public static String requireKey(String key) {
    if (key.isEmpty()) {
      throw new IllegalArgumentException("key must not be empty: key=\"\"");
    }
    return key;
  }

  static long requireTokens(long tokens) {
    if (tokens < 0) {
      throw new IllegalArgumentException("tokens must not be negative: tokens=" + tokens);
    }
    return tokens;
  }

  static void requireWait(Duration maxWait) {
    if (maxWait.isNegative()) {
      throw new IllegalArgumentException("maxWait must not be negative: maxWait=" + maxWait);
    }
  }
}
