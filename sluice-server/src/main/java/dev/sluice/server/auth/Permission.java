package dev.sluice.server.auth;

import dev.sluice.broker.NamePatterns;
import dev.sluice.server.support.ApiException;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Something that a key allows: a kind of request for names that match a pattern.
 *
 * @param kind what may be done
 * @param pattern of names, by the rules of {@link NamePatterns}
 */
public record Permission(Kind kind, String pattern) {
  /** The kind of calls that a permission allows. */
  public enum Kind {
    /** Enqueue to queues. */
    PRODUCE,
    /** Receive from queues, and settle. */
    CONSUME,
    /** Take tokens of limits: ask for decisions, and name throttle keys on messages. */
    LIMIT,
    /** Ask the governor, for {@code model:}, {@code tenant:}, {@code class:}, {@code feedback:}. */
    GOVERNOR,
    /** See queues with their messages, limits and models; nothing changes by this. */
    READ,
    /** Everything that changes or shows how the server is set up; includes {@link #READ}. */
    ADMIN;

    /** Returns whether a permission of this kind allows {@code wanted} for its names. */
    boolean includes(Kind wanted) {
      return this == wanted || (this == ADMIN && wanted == READ);
    }

    /**
     * Returns whether a permission of this kind may grant {@code wanted} for its names to a key.
     */
    boolean grants(Kind wanted) {
      return includes(wanted) || (this == ADMIN && (wanted == PRODUCE || wanted == CONSUME));
    }

    public static Kind of(String name) {
      return Arrays.stream(values())
          .filter(kind -> kind.word().equals(name))
          .findAny()
          .orElseThrow(
              () ->
                  ApiException.invalid(
                      "kind must be one of "
                          + Arrays.stream(values())
                              .map(Kind::word)
                              .collect(Collectors.joining(", "))
                          + ", but was "
                          + name));
    }

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public Permission {
    try {
      NamePatterns.requireValid(pattern);
    } catch (IllegalArgumentException invalid) {
      throw ApiException.of(invalid);
    }
  }

  /** Returns whether this permission allows {@code wanted} for {@code name}. */
  boolean allows(Kind wanted, String name) {
    return kind.includes(wanted) && NamePatterns.matches(pattern, name);
  }

  /** Returns whether this permission allows everything that {@code other} allows. */
  boolean covers(Permission other) {
    return kind.includes(other.kind) && coversNamesOf(other);
  }

  /**
   * Whether a key that has it may give {@code other} to a key. An admin of queues decides who
   * produces and consumes there; limits, throttle keys and models are not its own.
   */
  boolean grants(Permission other) {
    return kind.grants(other.kind) && coversNamesOf(other);
  }

  private boolean coversNamesOf(Permission other) {
    return NamePatterns.covers(pattern, other.pattern);
  }
}
