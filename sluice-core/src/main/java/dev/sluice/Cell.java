package dev.sluice;

import dev.sluice.Successor.Change;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One configuration of a bucket together with its state, a single word.
 *
 * <p>Thread-safe and lock-free. A cell serves until it is sealed; then its successor does.
 */
@SuppressWarnings("unused") // the padding
sealed class Cell extends CellState permits AtomicTokenBucket {
  /*
   * The word:
   *
   *    63     62    61                                                            0
   *  +------+------+--------------------------------------------------------------+
   *  | LINE | SEAL |  full-at, in units since the epoch (never negative)          |
   *  +------+------+--------------------------------------------------------------+
   *
   * SEAL freezes full-at while the successor takes over. LINE says that callers wait: what they are
   * owed is part of full-at, and only their line moves it.
   *
   * Concurrency. Every change of the word is one compare-and-set, or the seal. The word publishes no
   * other data, so grants need its atomicity alone: opaque reads, plain compare-and-set.
   * docs/concurrency.md argues the handover.
   */
  private static final long SEAL = 1L << 62;

  private static final long LINE = 1L << 63;

  private static final long FLAGS = SEAL | LINE;

  /** Outcome: this cell is sealed, ask its successor. */
  static final long MOVED = Long.MIN_VALUE;

  /** Outcome: the tokens are there, but only a cell with a later epoch can note their taking. */
  static final long EXPIRED = Long.MIN_VALUE + 1;

  /** Outcome: the tokens would be there, but callers wait: ask their line. */
  static final long QUEUED = Long.MIN_VALUE + 2;

  private static final VarHandle WORD;
  private static final VarHandle SUCCESSOR;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WORD = lookup.findVarHandle(CellState.class, "word", long.class);
      SUCCESSOR = lookup.findVarHandle(CellState.class, "successor", Successor.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** A pure step from one full-at to the next; a negative result changes nothing. */
  @FunctionalInterface
  interface Transition {
    long apply(long fullAt, long now, long units, long capacity);
  }

  static final Transition TAKE = BucketMath::take;
  static final Transition GIVE = BucketMath::give;

  // Keeps the word off the cache line of whatever lies behind it.
  byte b00, b01, b02, b03, b04, b05, b06, b07, b08, b09, b0a, b0b, b0c, b0d, b0e, b0f;
  byte b10, b11, b12, b13, b14, b15, b16, b17, b18, b19, b1a, b1b, b1c, b1d, b1e, b1f;
  byte b20, b21, b22, b23, b24, b25, b26, b27, b28, b29, b2a, b2b, b2c, b2d, b2e, b2f;
  byte b30, b31, b32, b33, b34, b35, b36, b37, b38, b39, b3a, b3b, b3c, b3d, b3e, b3f;
  byte b40, b41, b42, b43, b44, b45, b46, b47, b48, b49, b4a, b4b, b4c, b4d, b4e, b4f;
  byte b50, b51, b52, b53, b54, b55, b56, b57, b58, b59, b5a, b5b, b5c, b5d, b5e, b5f;
  byte b60, b61, b62, b63, b64, b65, b66, b67, b68, b69, b6a, b6b, b6c, b6d, b6e, b6f;
  byte b70, b71, b72, b73, b74, b75, b76, b77, b78, b79, b7a, b7b, b7c, b7d, b7e, b7f;

  /** The first cell of a bucket. */
  Cell(Scale scale, long initialTokens, long nowNanos) {
    super(Axis.first(scale, nowNanos));
    this.word = scale.cost(scale.capacity() - initialTokens);
  }

  /** The cell that takes over from {@code sealed}. */
  private Cell(Axis axis, Cell sealed) {
    super(axis);
    long line = (long) WORD.getAcquire(sealed) & LINE;
    this.word = sealed.axis.carry(sealed.fullAt(), axis) | line;
  }

  /**
   * Takes {@code tokens}, which must be positive.
   *
   * @return the new full-at; if denied, the bitwise complement of the present one; or {@link
   *     #MOVED}, {@link #EXPIRED} or {@link #QUEUED}
   */
  final long take(long tokens, long nowNanos) {
    return tokens > capacity ? denied() : apply(TAKE, tokens * unitsPerToken, nowNanos);
  }

  /** The outcome {@link #take} would have; always a grant or a denial. */
  final long wouldTake(long tokens, long nowNanos) {
    long fullAt = fullAt();
    return tokens > capacity
        ? ~fullAt
        : BucketMath.take(fullAt, unitsAt(nowNanos), tokens * unitsPerToken, capacityUnits);
  }

  /** Adds {@code tokens}, never above full; the outcome is as for {@link #take}, never a denial. */
  final long give(long tokens, long nowNanos) {
    // Lowers full-at and so needs no later epoch.
    return commit(GIVE, scale.cost(tokens), unitsAt(nowNanos));
  }

  private long apply(Transition transition, long units, long nowNanos) {
    long elapsedNanos = nowNanos - epochNanos;
    if (Long.compareUnsigned(elapsedNanos, horizonNanos) < 0) {
      long steps = stepNanos == 1 ? elapsedNanos : elapsedNanos / stepNanos;
      return commit(transition, units, steps * unitsPerStep);
    }
    return elapsedNanos < 0
        ? commit(transition, units, unitsAt(nowNanos))
        : applyBeyondHorizon(transition, units, nowNanos);
  }

  private long applyBeyondHorizon(Transition transition, long units, long nowNanos) {
    long seen = (long) WORD.getOpaque(this);
    long now = unitsAt(nowNanos);
    if ((seen & FLAGS) != 0) {
      return flagged(transition, units, now, seen);
    }
    long next = transition.apply(seen, now, units, capacityUnits);
    return next < 0 ? next : EXPIRED;
  }

  private long commit(Transition transition, long units, long now) {
    for (; ; ) {
      long seen = (long) WORD.getOpaque(this);
      if ((seen & FLAGS) != 0) {
        return flagged(transition, units, now, seen);
      }
      long next = transition.apply(seen, now, units, capacityUnits);
      if (next < 0 || next == seen || WORD.weakCompareAndSetPlain(this, seen, next)) {
        return next;
      }
      BackOff.pause();
    }
  }

  private long flagged(Transition transition, long units, long now, long seen) {
    if ((seen & SEAL) != 0) {
      return MOVED;
    }
    long next = transition.apply(seen & ~FLAGS, now, units, capacityUnits);
    return next < 0 ? next : QUEUED;
  }

  private long denied() {
    long seen = (long) WORD.getOpaque(this);
    return (seen & SEAL) != 0 ? MOVED : ~(seen & ~FLAGS);
  }

  /**
   * Marks that callers wait and moves full-at, if it is still {@code expected} and nobody waits.
   */
  final boolean openLine(long expected, long next) {
    return WORD.compareAndSet(this, expected, next | LINE);
  }

  /** Moves full-at while callers wait; whether some still do is noted. False if sealed. */
  final boolean moveLine(long next, boolean waiting) {
    long seen = (long) WORD.getAcquire(this);
    return (seen & SEAL) == 0 && WORD.compareAndSet(this, seen, waiting ? next | LINE : next);
  }

  /** Whether grants at {@code nowNanos} can be noted on this cell's axis. */
  final boolean covers(long nowNanos) {
    return axis.covers(nowNanos);
  }

  /** Full-at; frozen if this cell is sealed. */
  final long fullAt() {
    return (long) WORD.getAcquire(this) & ~FLAGS;
  }

  final boolean isSealed() {
    return ((long) WORD.getAcquire(this) & SEAL) != 0;
  }

  /** The instant {@code nowNanos} in units of this cell, whatever the distance from its epoch. */
  final long unitsAt(long nowNanos) {
    return axis.unitsAt(nowNanos);
  }

  /**
   * Asks for another scale and completes the handover, to that scale or to one asked for before.
   *
   * @return whether it was this wish that was met
   */
  final boolean succeed(Change change, long originNanos, NanoClock clock) {
    boolean won = SUCCESSOR.compareAndSet(this, null, change);
    successor(originNanos, change.nowNanos(), clock);
    return won;
  }

  /**
   * Completes the handover that some thread has begun; whoever comes first does the work.
   *
   * @param originNanos when the bucket was made, where the grid of a strict limit starts
   * @param clock read once this cell is sealed: no grant it made can be later than that
   */
  final Cell successor(long originNanos, long nowNanos, NanoClock clock) {
    WORD.getAndBitwiseOr(this, SEAL);
    Successor next = (Successor) SUCCESSOR.getVolatile(this);
    if (next instanceof Change change) {
      long atNanos = Axis.later(Axis.later(nowNanos, change.nowNanos()), clock.nanoTime());
      Axis later = axis.next(change.scale(), originNanos, Axis.later(atNanos, usedUntilNanos()));
      Cell cell = new Cell(later, this);
      SUCCESSOR.compareAndSet(this, change, cell);
      next = (Successor) SUCCESSOR.getVolatile(this);
    }
    return (Cell) next;
  }

  /** Lets the cells between this one, whose handover is done, and {@code live} be collected. */
  final void skipTo(Cell live) {
    SUCCESSOR.setRelease(this, live);
  }

  /** An instant that is certainly not later than the last grant, nor earlier than this cell. */
  private long usedUntilNanos() {
    boolean waiting = ((long) WORD.getAcquire(this) & LINE) != 0;
    return waiting ? axis.bornNanos() : axis.usedUntilNanos(fullAt());
  }
}
