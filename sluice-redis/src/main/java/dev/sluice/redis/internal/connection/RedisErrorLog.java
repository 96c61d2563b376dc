package dev.sluice.redis.internal.connection;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides which of Redis's refusals are logged: the first, then one a minute while the error code
 * stays the same, and at most one in 10 seconds when it changes. A key of the wrong type otherwise
 * fills the log for as long as callers ask for it.
 *
 * <p>Thread-safe.
 *
 * @since 0.1
 */
public final class RedisErrorLog {
  private static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Errors that alternate between two codes must not be logged each time either. */
  private static final long MIN_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final LongSupplier nanoClock;

  // Guarded by this.
  private @Nullable String loggedCode;
  private long loggedNanos;
  private long suppressed;

  private RedisErrorLog(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /**
   * Creates a log that has seen no refusal.
   *
   * @return the log, on the system's clock
   */
  public static RedisErrorLog create() {
    return of(System::nanoTime);
  }

  public static RedisErrorLog of(LongSupplier nanoClock) {
    return new RedisErrorLog(nanoClock);
  }

  /**
   * Passes {@code error} to {@code log} unless such an error was logged shortly before, with the
   * number of refusals that were left out since.
   *
   * @param error what Redis answered
   * @param log writes one line
   */
  public void refused(String error, RedisErrorLog.LogLine log) {
    long leftOut;
    synchronized (this) {
      if (!isDue(code(error))) {
        suppressed++;
        return;
      }
      leftOut = suppressed;
      suppressed = 0;
    }
    log.write(error, leftOut);
  }

  private boolean isDue(String code) {
    long now = nanoClock.getAsLong();
    long pause = code.equals(loggedCode) ? PAUSE_NANOS : MIN_PAUSE_NANOS;
    if (loggedCode != null && now - loggedNanos < pause) {
      return false;
    }
    loggedCode = code;
    loggedNanos = now;
    return true;
  }

  /** The first word, such as {@code WRONGTYPE}. */
  private static String code(String error) {
    int end = error.indexOf(' ');
    return end < 0 ? error : error.substring(0, end);
  }

  /** Writes one line of the log. */
  @FunctionalInterface
  public interface LogLine {
    /**
     * Writes it.
     *
     * @param error what Redis answered
     * @param leftOut how many refusals were not logged since the last line
     */
    void write(String error, long leftOut);
  }
}
