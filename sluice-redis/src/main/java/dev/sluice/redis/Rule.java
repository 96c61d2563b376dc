package dev.sluice.redis;

import dev.sluice.redis.limits.CostChecks;

/**
 * A rate that is set for one key, or for all keys that begin alike.
 *
 * @param key the key, or a prefix and an asterisk
 * @param ratePerSecond tokens that accrue in one second
 * @param burst the most tokens held
 * @since 0.1
 */
public record Rule(String key, double ratePerSecond, double burst) {
  public static final String TEMPLATE_END = "*";

  /**
   * Whether this is a template.
   *
   * @return whether the key ends with an asterisk
   */
  public boolean isTemplate() {
    return key.endsWith(TEMPLATE_END);
  }

  /** A key that no template could be mistaken for. */
  public static String requireKey(String key) {
    if (CostChecks.requireKey(key).endsWith(TEMPLATE_END)) {
      throw new IllegalArgumentException(
          "a key must not end with an asterisk, which means a template: key=" + key);
    }
    return key;
  }

  /** A prefix and an asterisk. */
  public static String requirePattern(String pattern) {
    if (!pattern.endsWith(TEMPLATE_END) || pattern.indexOf('*') != pattern.length() - 1) {
      throw new IllegalArgumentException(
          "pattern must have one asterisk, at its end: pattern=" + pattern);
    }
    return pattern;
  }
}
