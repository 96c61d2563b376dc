package dev.sluice.governor.redis.store;

import dev.sluice.governor.redis.RedisBudgets;
import dev.sluice.redis.connection.RedisFailure;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Recognizes errors of Redis that repeat with every attempt. */
final class PermanentErrors {
  private static final Logger LOG = LoggerFactory.getLogger(RedisBudgets.class);

  /** Rights and passwords are set right again; servers before 7 say it in their own words. */
  private static final List<String> FOR_NOW =
      List.of(
          "NOPERM",
          "NOAUTH",
          "WRONGPASS",
          "ACL failure in script",
          "The user executing the script can't");

  private PermanentErrors() {}

  /** Whether it is no use to ask for the same again. */
  static boolean isForGood(Throwable failure) {
    String text = RedisFailure.messageOf(failure);
    return RedisFailure.of(failure) == RedisFailure.REFUSED
        && FOR_NOW.stream().noneMatch(text::contains);
  }

  /** Says that it is given up, or throws, to have it sent again. */
  static void dropOrRethrow(String what, Throwable failure) {
    if (!isForGood(failure)) {
      throw new CompletionException(failure);
    }
    LOG.warn("Redis permanently rejects {}; it is dropped", what, failure);
  }
}
