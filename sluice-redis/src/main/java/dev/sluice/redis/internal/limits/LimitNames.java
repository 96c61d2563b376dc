package dev.sluice.redis.internal.limits;

/** Checks names of limits and tells templates from other names. */
final class LimitNames {
  private static final String TEMPLATE_END = "*";

  private LimitNames() {}

  /** Returns whether the name is a template: a prefix and an asterisk. */
  static boolean isTemplate(String name) {
    return name.endsWith(TEMPLATE_END);
  }

  /** Returns whether limits can have the name. */
  static boolean isValid(String name) {
    return !name.isEmpty() && (!isTemplate(name) || name.indexOf('*') == name.length() - 1);
  }

  /**
   * Checks the name of a limit.
   *
   * @throws IllegalArgumentException if it is empty, or a template with a second asterisk
   */
  static String require(String name) {
    CostChecks.requireName(name);
    if (!isValid(name)) {
      throw new IllegalArgumentException(
          "pattern must have one asterisk, at its end, but was " + name);
    }
    return name;
  }

  /** Returns the prefix of a template. */
  static String prefix(String template) {
    return template.substring(0, template.length() - 1);
  }
}
