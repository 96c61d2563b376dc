package dev.sluice.redis.limits;

import dev.sluice.redis.Rule;
import java.util.List;

/** Rates and templates as they were when somebody last looked. */
public record CachedLimits(List<Rule> rules, long version) {
  public static final CachedLimits NONE = new CachedLimits(List.of(), 0);
}
