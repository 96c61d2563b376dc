package dev.sluice.governor.redis.internal.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.redis.internal.connection.RedisFailure;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Recognizes errors of Redis that repeat with every attempt. */
final class PermanentErrors {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  /** Permissions and passwords can be corrected; servers before 7 have messages without a code. */
  private static final List<String> TEMPORARY =
      List.of(
          "NOPERM",
          "NOAUTH",
          "WRONGPASS",
          "ACL failure in script",
          "The user executing the script can't");

  private PermanentErrors() {}

  /** Returns whether every further attempt will fail. */
  static boolean isPermanent(Throwable failure) {
    String text = RedisFailure.messageOf(failure);
    return RedisFailure.of(failure) == RedisFailure.REFUSED
        && TEMPORARY.stream().noneMatch(text::contains);
  }

  /** Logs that a message is dropped, or throws, so that it is sent again. */
  static void dropOrRethrow(String what, Throwable failure) {
    if (!isPermanent(failure)) {
      throw new CompletionException(failure);
    }
    LOG.warn("Redis permanently rejects {}; it is dropped", what, failure);
  }
}
