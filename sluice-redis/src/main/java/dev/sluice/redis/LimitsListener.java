package dev.sluice.redis;

import java.util.List;

/**
 * Who is told what happens to shared limits.
 *
 * <p>Called on a thread of the library, in order; must not block. What it throws is logged.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface LimitsListener {

  /**
   * Something happened.
   *
   * @param event what
   */
  void onEvent(LimitsEvent event);

  /**
   * The fleet's rates and templates changed.
   *
   * @param rules all of them
   * @param version larger than before
   */
  default void onRules(List<Rule> rules, long version) {}
}
