package dev.sluice.redis;

import dev.sluice.Limit;
import java.util.SortedMap;

/**
 * Receives the named limits of the fleet whenever they change.
 *
 * <p>Called in order on a library thread; must not block. Exceptions that it throws are logged.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface LimitsListener {

  /**
   * The named limits of the fleet have changed.
   *
   * @param limits all of them, unmodifiable
   * @param version larger than at the call before
   */
  void limitsChanged(SortedMap<String, Limit> limits, long version);
}
