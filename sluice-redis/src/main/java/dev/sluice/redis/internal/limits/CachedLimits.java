package dev.sluice.redis.internal.limits;

import dev.sluice.Limit;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/** The named limits that a node knew before it started. */
public record CachedLimits(SortedMap<String, Limit> limits, long version) {
  public static final CachedLimits NONE = new CachedLimits(new TreeMap<>(), 0);

  /** Checks and copies the limits. */
  public CachedLimits {
    limits.forEach(
        (name, limit) -> {
          LimitNames.require(name);
          NamedLimit.require(limit);
        });
    limits = Collections.unmodifiableSortedMap(new TreeMap<>(limits));
  }
}
