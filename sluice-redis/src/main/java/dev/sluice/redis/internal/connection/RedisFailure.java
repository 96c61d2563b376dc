package dev.sluice.redis.internal.connection;

import dev.sluice.redis.RedisUnavailableException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.netty.channel.ConnectTimeoutException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Why Redis did not do what it was asked.
 *
 * @since 0.1
 */
public enum RedisFailure {
  /** The call came after its deadline and did nothing. */
  EXPIRED,
  /** Redis answers, and will not do it: a missing permission, a key of another type. */
  REFUSED,
  /** There is no connection, no answer, or a server that cannot serve now. */
  AWAY;

  private static final String EXPIRED_CODE = "EXPIRED ";

  private static final List<String> CANNOT_SERVE =
      List.of(
          "READONLY",
          "LOADING",
          "MASTERDOWN",
          "CLUSTERDOWN",
          "TRYAGAIN",
          "BUSY",
          "OOM command",
          "MISCONF",
          "NOREPLICAS");

  /** Returns what kind of failure the innermost cause is. */
  public static RedisFailure of(@Nullable Throwable failure) {
    if (!(root(failure) instanceof RedisCommandExecutionException error)) {
      return AWAY;
    }
    String text = String.valueOf(error.getMessage());
    if (text.contains(EXPIRED_CODE)) {
      return EXPIRED;
    }
    // Servers before 7 put an error of a script behind words of their own.
    return CANNOT_SERVE.stream().anyMatch(text::contains) ? AWAY : REFUSED;
  }

  /** Returns whether the failure, or its direct cause, is that Redis is unavailable. */
  public static boolean isUnavailable(Throwable failure) {
    return unavailable(failure) != null;
  }

  /** Returns whether the call failed because Redis is unavailable, and was never sent. */
  public static boolean isUnsent(Throwable failure) {
    RedisUnavailableException unavailable = unavailable(failure);
    return unavailable != null && !unavailable.mayBeApplied();
  }

  private static @Nullable RedisUnavailableException unavailable(Throwable failure) {
    Throwable cause = failure instanceof RedisUnavailableException ? failure : failure.getCause();
    return cause instanceof RedisUnavailableException unavailable ? unavailable : null;
  }

  /** Returns whether waiting does not help, unlike with a time-out on a busy machine. */
  static boolean isFinal(Throwable failure) {
    Throwable root = root(failure);
    return !(root instanceof TimeoutException
        || root instanceof ConnectTimeoutException
        || root instanceof RedisCommandTimeoutException);
  }

  /** Returns the text of the innermost cause. */
  public static String messageOf(@Nullable Throwable failure) {
    Throwable root = root(failure);
    return root instanceof RedisCommandExecutionException
        ? String.valueOf(root.getMessage())
        : String.valueOf(root);
  }

  private static @Nullable Throwable root(@Nullable Throwable failure) {
    Throwable root = failure;
    while (root != null && root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }
}
