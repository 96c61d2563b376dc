package dev.sluice.redis.link;

import java.util.concurrent.TimeUnit;

/**
 * Measures how long Redis has been silent, less the time in which this process did not run.
 *
 * <p>{@link #answered} and {@link #broke} are called on any thread, {@link #nanos} on one.
 */
final class Silence {
  /** A look is late by more than this because the node's own threads did not run. */
  private static final long USUAL_DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private volatile long answeredNanos;
  private volatile boolean broken;

  // Of the thread that looks.
  private long judgedNanos;
  private long delayNanos;

  Silence(long nowNanos) {
    this.answeredNanos = nowNanos;
    this.judgedNanos = nowNanos;
  }

  /** Redis answered in time. */
  void answered(long nowNanos) {
    answeredNanos = nowNanos;
    broken = false;
  }

  /** The connection broke, or Redis answered that it cannot serve. */
  void broke() {
    broken = true;
  }

  /** Returns whether the last that was heard is a failure: then no answer is waited for. */
  boolean isBroken() {
    return broken;
  }

  /** Returns when Redis answered last. */
  long since() {
    return answeredNanos;
  }

  /** Returns how long Redis has been silent, at a look that was due at {@code dueNanos}. */
  long nanos(long nowNanos, long dueNanos) {
    long answered = answeredNanos;
    if (answered != judgedNanos) {
      judgedNanos = answered;
      delayNanos = 0;
    }
    long delay = nowNanos - dueNanos;
    delayNanos += delay > USUAL_DELAY_NANOS ? delay : 0;
    return nowNanos - answered - delayNanos;
  }
}
