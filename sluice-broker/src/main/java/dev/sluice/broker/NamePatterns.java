package dev.sluice.broker;

/**
 * The rules for patterns of names. A pattern is a name; a prefix that ends in {@code .*} or {@code
 * :*}, for names that begin with everything before the asterisk; or {@code *} for all names.
 *
 * @since 0.1
 */
public final class NamePatterns {
  /** The pattern of all names. */
  public static final String ALL = "*";

  /** The longest pattern, in characters. */
  public static final int MAX_LENGTH = 256;

  private NamePatterns() {}

  /**
   * Returns {@code pattern} if it is one.
   *
   * @param pattern a name, a prefix and {@code .*} or {@code :*}, or {@code *}
   * @return the pattern
   * @throws IllegalArgumentException if it is empty, too long or has another asterisk
   */
  public static String requireValid(String pattern) {
    if (pattern.isEmpty() || pattern.length() > MAX_LENGTH) {
      throw new IllegalArgumentException(
          "pattern must have 1 to %d characters, but was %s".formatted(MAX_LENGTH, pattern));
    }
    boolean hasPrefix = isPrefix(pattern) && pattern.length() > 2;
    String fixed = pattern.equals(ALL) ? "" : hasPrefix ? prefixOf(pattern) : pattern;
    if (fixed.contains(ALL)) {
      throw new IllegalArgumentException(
          "pattern must be a name, a prefix and .* or :*, or *, but was " + pattern);
    }
    return pattern;
  }

  private static boolean isPrefix(String pattern) {
    return pattern.endsWith(".*") || pattern.endsWith(":*");
  }

  private static String prefixOf(String pattern) {
    return pattern.substring(0, pattern.length() - 1);
  }

  /**
   * Returns whether {@code name} is one of the names of {@code pattern}.
   *
   * @param pattern a valid pattern
   * @param name any name
   * @return true if it is
   */
  public static boolean matches(String pattern, String name) {
    return pattern.equals(ALL)
        || (isPrefix(pattern) ? name.startsWith(prefixOf(pattern)) : name.equals(pattern));
  }

  /**
   * Returns whether {@code pattern} has all names of another one.
   *
   * @param pattern a valid pattern
   * @param other a valid pattern
   * @return true if it has
   */
  public static boolean covers(String pattern, String other) {
    if (pattern.equals(ALL) || other.equals(ALL)) {
      return pattern.equals(ALL);
    }
    return isPrefix(other)
        ? isPrefix(pattern) && prefixOf(other).startsWith(prefixOf(pattern))
        : matches(pattern, other);
  }
}
