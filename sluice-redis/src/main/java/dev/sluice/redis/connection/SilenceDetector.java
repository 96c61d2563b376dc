package dev.sluice.redis.connection;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Measures how long Redis has been silent, less the time in which this process did not run, and
 * knows whether a heartbeat has confirmed the server since the connection last broke.
 *
 * <p>{@link #nanos} is called on one thread, the other methods on any.
 */
public final class SilenceDetector {
  /** A look is late by more than this because the node's own threads did not run. */
  private static final long USUAL_DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private volatile long answeredNanos;
  private final AtomicInteger breaks = new AtomicInteger();

  /** The breaks that the last confirmed heartbeat was sent after. */
  private volatile int confirmedBreaks;

  // Of the thread that looks.
  private long judgedNanos;
  private long delayNanos;

  public SilenceDetector(long nowNanos) {
    this.answeredNanos = nowNanos;
    this.judgedNanos = nowNanos;
  }

  /** Redis answered in time. */
  public void answered(long nowNanos) {
    answeredNanos = nowNanos;
  }

  /** The connection broke, or Redis answered that it cannot serve. */
  public void broke() {
    breaks.incrementAndGet();
  }

  /** Returns how often the connection broke; a heartbeat notes it before it is sent. */
  public int breaks() {
    return breaks.get();
  }

  /** Redis answered a heartbeat that was sent after so many breaks. */
  public void confirmed(int breaksBefore) {
    confirmedBreaks = breaksBefore;
  }

  /**
   * Returns whether the connection broke since the last confirmed heartbeat. Another server may
   * answer now, or one that has lost its data; an answer to anything but a heartbeat does not tell.
   */
  public boolean isBroken() {
    return breaks.get() != confirmedBreaks;
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
