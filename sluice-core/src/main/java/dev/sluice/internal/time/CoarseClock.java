package dev.sluice.internal.time;

import dev.sluice.NanoClock;
import dev.sluice.internal.util.DaemonThreads;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A clock set by a daemon thread that lives only while the clock is read. */
public final class CoarseClock implements NanoClock {
  /*
   * Detecting that the clock is not read, without making every reader write: now and then the
   * thread asks (ASKED), and the first reader that notices answers (RUNNING). A question that stays
   * open for idleNanos ends the thread (STOPPED); the next reader starts another.
   */
  private static final int RUNNING = 0;
  private static final int ASKED = 1;
  private static final int STOPPED = 2;

  private static final Duration DEFAULT_TICK = Duration.ofMillis(1);
  private static final Duration MIN_TICK = Duration.ofNanos(1_000);
  private static final Duration MAX_TICK = Duration.ofSeconds(1);

  /** Long enough that a pause between bursts keeps the thread, short enough not to linger. */
  private static final Duration DEFAULT_IDLE = Duration.ofSeconds(5);

  /** The number of checks in that time. */
  private static final int ASKS = 5;

  public static final CoarseClock SHARED = new CoarseClock(DEFAULT_TICK);

  private final long tickNanos;
  private final long idleNanos;

  // Atomic. The state is read before the time, so that a time read under RUNNING was ticking.
  private volatile int state = STOPPED;
  private volatile long nanos;

  public CoarseClock(Duration tick) {
    this(tick, DEFAULT_IDLE);
  }

  public CoarseClock(Duration tick, Duration idle) {
    if (tick.compareTo(MIN_TICK) < 0 || tick.compareTo(MAX_TICK) > 0) {
      throw new IllegalArgumentException(
          "tick must be from " + MIN_TICK + " to " + MAX_TICK + ", but was " + tick);
    }
    this.tickNanos = tick.toNanos();
    this.idleNanos = idle.toNanos();
  }

  @Override
  public long nanoTime() {
    return state == RUNNING ? nanos : answer();
  }

  public boolean isRunning() {
    return state != STOPPED;
  }

  private synchronized long answer() {
    if (state == STOPPED) {
      nanos = System.nanoTime();
      DaemonThreads.of(this::tick, "sluice-coarse-clock").start();
    }
    state = RUNNING;
    return nanos;
  }

  private void tick() {
    long usedNanos = System.nanoTime();
    long checkedNanos = usedNanos;
    do {
      LockSupport.parkNanos(tickNanos);
      nanos = System.nanoTime();
      if (nanos - checkedNanos >= idleNanos / ASKS) {
        checkedNanos = nanos;
        if (state == RUNNING) {
          usedNanos = nanos;
          ask();
        }
      }
    } while (nanos - usedNanos < idleNanos || !stop());
  }

  private synchronized void ask() {
    state = ASKED;
  }

  private synchronized boolean stop() {
    if (state == ASKED) {
      state = STOPPED;
      return true;
    }
    return false;
  }
}
