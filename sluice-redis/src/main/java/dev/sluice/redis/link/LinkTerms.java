package dev.sluice.redis.link;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the owner of a link asks of it.
 *
 * @param timeout how long an answer may take
 * @param trust a file of certificates in PEM; null for those that the JVM trusts
 * @param scripts those that Redis is to know before it is asked
 * @param threads what the names of its threads begin with
 * @param failures what calls fail with
 * @since 0.1
 */
public record LinkTerms(
    Duration timeout,
    @Nullable Path trust,
    List<LuaScript> scripts,
    String threads,
    Failures failures) {

  /** Copies the list. */
  public LinkTerms {
    scripts = List.copyOf(scripts);
  }

  /**
   * The exceptions that calls without an answer fail with.
   *
   * @since 0.1
   */
  public interface Failures {
    /** Redis is known to be away and was not asked; many calls fail with it. */
    RuntimeException notAsked();

    /** Redis was asked, and may have done what it was asked for. */
    RuntimeException unanswered(String message, @Nullable Throwable cause);
  }
}
