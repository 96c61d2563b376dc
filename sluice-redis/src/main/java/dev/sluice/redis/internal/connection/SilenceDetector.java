package dev.sluice.redis.internal.connection;

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

  /** A time that is none: no heartbeat is refused. */
  private static final long NEVER = Long.MIN_VALUE;

  private volatile long answeredNanos;

  /** When Redis refused the first heartbeat of those since one was served. */
  private volatile long refusedNanos = NEVER;

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

  /**
   * Redis answered a heartbeat, and does not know of this node by it: a missing permission, say.
   */
  void heartbeatRefused(long nowNanos) {
    refusedNanos = isRefused() ? refusedNanos : nowNanos;
  }

  /** Redis did what a heartbeat asked for. */
  void heartbeatServed() {
    refusedNanos = NEVER;
  }

  /** Returns whether Redis refuses heartbeats: then no answer to anything else ends the silence. */
  boolean isRefused() {
    return refusedNanos != NEVER;
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

  /** Returns when Redis answered anything last: the connection leads somewhere. */
  long answeredNanos() {
    return answeredNanos;
  }

  /** Returns when Redis served this node last. */
  long since() {
    long answered = answeredNanos;
    long refused = refusedNanos;
    return refused != NEVER && refused - answered < 0 ? refused : answered;
  }

  /**
   * Returns how long Redis has been silent or has refused heartbeats, at a look that was due at
   * {@code dueNanos}.
   */
  long nanos(long nowNanos, long dueNanos) {
    long answered = since();
    if (answered != judgedNanos) {
      judgedNanos = answered;
      delayNanos = 0;
    }
    long delay = nowNanos - dueNanos;
    delayNanos += delay > USUAL_DELAY_NANOS ? delay : 0;
    return nowNanos - answered - delayNanos;
  }
}
