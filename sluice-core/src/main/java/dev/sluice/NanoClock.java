package dev.sluice;

import dev.sluice.internal.time.CoarseClock;
import dev.sluice.internal.time.SystemClock;
import java.time.Duration;

/**
 * The source of a bucket's time.
 *
 * <p>Readings are nanoseconds from an arbitrary origin, like those of {@link System#nanoTime}: only
 * differences mean anything, and they may wrap. A clock that stands still or steps back mints no
 * token. One that throws fails the call that reads it, and callers that wait then may wait on.
 *
 * <p>Callers that wait on a bucket are woken by real time, not by its clock; only {@link
 * ManualClock} wakes them itself.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface NanoClock {

  /**
   * The present instant.
   *
   * @return nanoseconds from an arbitrary origin
   */
  long nanoTime();

  /**
   * The system's monotonic clock, {@link System#nanoTime}.
   *
   * @return the clock; always the same
   */
  static NanoClock system() {
    return SystemClock.INSTANCE;
  }

  /**
   * Returns a clock that a background thread sets every millisecond: much cheaper to read, and up
   * to a tick behind.
   *
   * <p>The lag loosens the window bound: a bucket on this clock may grant {@code rate × lag} more
   * in a window than one on the system clock. The daemon thread starts with the first reading and
   * ends when the clock has not been read for some seconds.
   *
   * @return the clock; always the same
   */
  static NanoClock coarse() {
    return CoarseClock.SHARED;
  }

  /**
   * A clock like {@link #coarse()} with its own tick and its own thread.
   *
   * @param tick time between two settings, from 1 microsecond to 1 second
   * @return a new clock
   * @throws IllegalArgumentException if {@code tick} is out of range
   */
  static NanoClock coarse(Duration tick) {
    return new CoarseClock(tick);
  }
}
