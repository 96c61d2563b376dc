package dev.sluice.internal.bucket;

import dev.sluice.NanoClock;
import dev.sluice.internal.bucket.CellSuccessor.Change;
import dev.sluice.internal.util.SpinBackoff;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A configuration of a bucket together with its state, a single word.
 *
 * <p>Thread-safe and lock-free. A cell serves until it is sealed; then its successor does.
 */
public @SuppressWarnings("unused") // the padding
sealed class Cell extends CellState permits AtomicTokenBucket {
  /*
   * The word:
   *
   *    63   62   61                                                            0
   *  +-----------+--------------------------------------------------------------+
   *  |   state   |  full-at, in units since the epoch (never negative)          |
   *  +-----------+--------------------------------------------------------------+
   *
   *   state     means                                        changed by
   *   FREE      no caller waits                              any thread: grants, ARRIVED, SEALED
   *   ARRIVED   a caller arrived since WAITING was set       the holder of the list's lock
   *   WAITING   callers wait: what they are owed is part of  the holder of the list's lock; a
   *             full-at, and only their list moves it        caller that arrives, to ARRIVED
   *   SEALED    full-at is frozen, the successor serves      nothing
   *
   * Full-at takes 62 bits, so the two states of a sealed cell, with waiters and without, need another
   * place: `sealedState`. That works because a cell with waiters is sealed by their list alone.
   *
   * Concurrency. Every change of the word is one compare-and-set. Between FREE words it publishes no
   * other data, so grants need its atomicity alone: opaque reads, plain compare-and-set.
   * docs/concurrency.md argues arrivals and the handover.
   */
  private static final long FREE = 0;

  private static final long SEALED = 1L << 62;

  private static final long WAITING = 2L << 62;

  private static final long ARRIVED = 3L << 62;

  private static final long STATE = 3L << 62;

  /** Outcome: this cell is sealed, ask its successor. */
  static final long MOVED = Long.MIN_VALUE;

  /** Outcome: the tokens are there, but only a cell with a later epoch can note their taking. */
  static final long EXPIRED = Long.MIN_VALUE + 1;

  /** Outcome: the tokens would be there, but callers wait: ask their list. */
  public static final long QUEUED = Long.MIN_VALUE + 2;

  private static final VarHandle WORD;
  private static final VarHandle SUCCESSOR;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WORD = lookup.findVarHandle(CellState.class, "word", long.class);
      SUCCESSOR = lookup.findVarHandle(CellState.class, "successor", CellSuccessor.class);
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

  // Keeps the word off the cache line of the object behind it.
  byte b00, b01, b02, b03, b04, b05, b06, b07, b08, b09, b0a, b0b, b0c, b0d, b0e, b0f;
  byte b10, b11, b12, b13, b14, b15, b16, b17, b18, b19, b1a, b1b, b1c, b1d, b1e, b1f;
  byte b20, b21, b22, b23, b24, b25, b26, b27, b28, b29, b2a, b2b, b2c, b2d, b2e, b2f;
  byte b30, b31, b32, b33, b34, b35, b36, b37, b38, b39, b3a, b3b, b3c, b3d, b3e, b3f;
  byte b40, b41, b42, b43, b44, b45, b46, b47, b48, b49, b4a, b4b, b4c, b4d, b4e, b4f;
  byte b50, b51, b52, b53, b54, b55, b56, b57, b58, b59, b5a, b5b, b5c, b5d, b5e, b5f;
  byte b60, b61, b62, b63, b64, b65, b66, b67, b68, b69, b6a, b6b, b6c, b6d, b6e, b6f;
  byte b70, b71, b72, b73, b74, b75, b76, b77, b78, b79, b7a, b7b, b7c, b7d, b7e, b7f;

  /** The first cell of a bucket. */
  Cell(UnitScale scale, long initialTokens, long nowNanos) {
    super(EpochScale.first(scale, nowNanos));
    this.word = scale.cost(scale.capacity() - initialTokens);
  }

  /** The cell that takes over from {@code sealed}. */
  private Cell(EpochScale epochScale, Cell sealed) {
    super(epochScale);
    this.word = sealed.epochScale.carry(sealed.fullAt(), epochScale) | sealed.sealedState;
  }

  /**
   * Takes {@code tokens}, which must be positive.
   *
   * @return the new full-at; if denied, the bitwise complement of the present one; or {@link
   *     #MOVED}, {@link #EXPIRED} or {@link #QUEUED}
   */
  public final long take(long tokens, long nowNanos) {
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
    if ((seen & STATE) != FREE) {
      return flagged(transition, units, now, seen);
    }
    long next = transition.apply(seen, now, units, capacityUnits);
    return next < 0 ? next : EXPIRED;
  }

  private long commit(Transition transition, long units, long now) {
    for (; ; ) {
      long seen = (long) WORD.getOpaque(this);
      if ((seen & STATE) != FREE) {
        return flagged(transition, units, now, seen);
      }
      long next = transition.apply(seen, now, units, capacityUnits);
      if (next < 0 || next == seen || WORD.weakCompareAndSetPlain(this, seen, next)) {
        return next;
      }
      SpinBackoff.pause();
    }
  }

  private long flagged(Transition transition, long units, long now, long seen) {
    if ((seen & STATE) == SEALED) {
      return MOVED;
    }
    long next = transition.apply(seen & ~STATE, now, units, capacityUnits);
    return next < 0 ? next : QUEUED;
  }

  private long denied() {
    long seen = (long) WORD.getOpaque(this);
    return (seen & STATE) == SEALED ? MOVED : ~(seen & ~STATE);
  }

  /**
   * Notes that a caller has come to the list, which no later caller gets ahead of; false if sealed.
   */
  public final boolean arrive() {
    for (; ; ) {
      long seen = (long) WORD.getVolatile(this);
      long state = seen & STATE;
      if (state == SEALED) {
        return false;
      }
      if (state == ARRIVED || WORD.compareAndSet(this, seen, seen | ARRIVED)) {
        return true;
      }
    }
  }

  public final boolean hasArrivals() {
    return ((long) WORD.getVolatile(this) & STATE) == ARRIVED;
  }

  /**
   * Turns ARRIVED into WAITING, so that later arrivals show; returns false if there was no arrival.
   */
  public final boolean openWaitingList() {
    long seen = (long) WORD.getVolatile(this);
    return (seen & STATE) == ARRIVED && WORD.compareAndSet(this, seen, (seen & ~STATE) | WAITING);
  }

  /** Frees the cell, unless a waiter has arrived. */
  final void closeWaitingList() {
    long seen = (long) WORD.getVolatile(this);
    if ((seen & STATE) == WAITING) {
      // Fails only if a waiter arrives.
      WORD.compareAndSet(this, seen, seen & ~STATE);
    }
  }

  /**
   * Moves full-at while the list is open, and closes it unless it is to stay open or a waiter has
   * arrived; returns false if the word has changed.
   */
  public final boolean moveWaitingList(long next, boolean stayOpen) {
    long seen = (long) WORD.getVolatile(this);
    long state = seen & STATE;
    if (state == SEALED) {
      return false;
    }
    long nextState = state == ARRIVED ? ARRIVED : stayOpen ? WAITING : FREE;
    return WORD.compareAndSet(this, seen, next | nextState);
  }

  /** Returns whether this cell's epoch scale can record grants at {@code nowNanos}. */
  final boolean covers(long nowNanos) {
    return epochScale.covers(nowNanos);
  }

  /** Full-at; frozen if this cell is sealed. */
  public final long fullAt() {
    return (long) WORD.getAcquire(this) & ~STATE;
  }

  final boolean isSealed() {
    return ((long) WORD.getAcquire(this) & STATE) == SEALED;
  }

  /** Returns the instant {@code nowNanos} in units of this cell, at any distance from its epoch. */
  public final long unitsAt(long nowNanos) {
    return epochScale.unitsAt(nowNanos);
  }

  /** Asks for another scale, before the seal; false if one was asked for before. */
  public final boolean ask(Change change) {
    return SUCCESSOR.compareAndSet(this, null, change);
  }

  /**
   * Freezes full-at, after another scale was asked for.
   *
   * @param holdsLock whether the caller holds the list's lock
   * @return false if callers wait, and so only the holder of that lock may
   */
  public final boolean seal(boolean holdsLock) {
    for (; ; ) {
      long seen = (long) WORD.getVolatile(this);
      long state = seen & STATE;
      if (state == SEALED) {
        return true;
      }
      if (state != FREE) {
        if (!holdsLock) {
          return false;
        }
        sealedState = state;
      }
      if (WORD.compareAndSet(this, seen, (seen & ~STATE) | SEALED)) {
        return true;
      }
    }
  }

  /**
   * Completes the handover of this sealed cell; the first thread that arrives does the work.
   *
   * @param originNanos when the bucket was made, where the grid of a strict limit starts
   * @param clock read once this cell is sealed: no grant it made can be later than that
   */
  public final Cell successor(long originNanos, long nowNanos, NanoClock clock) {
    // A grant saw the seal opaquely; this read orders what was written before the seal.
    if (!isSealed()) {
      throw new IllegalStateException("cell is not sealed");
    }
    CellSuccessor next = (CellSuccessor) SUCCESSOR.getVolatile(this);
    if (next instanceof Change change) {
      long atNanos =
          EpochScale.later(EpochScale.later(nowNanos, change.nowNanos()), clock.nanoTime());
      EpochScale later =
          epochScale.next(change.scale(), originNanos, EpochScale.later(atNanos, usedUntilNanos()));
      Cell cell = new Cell(later, this);
      SUCCESSOR.compareAndSet(this, change, cell);
      next = (CellSuccessor) SUCCESSOR.getVolatile(this);
    }
    return (Cell) next;
  }

  /** Lets the cells between this one, whose handover is done, and {@code live} be collected. */
  final void skipTo(Cell live) {
    SUCCESSOR.setRelease(this, live);
  }

  /** An instant that is certainly not later than the last grant, nor earlier than this cell. */
  private long usedUntilNanos() {
    return sealedState == FREE ? epochScale.usedUntilNanos(fullAt()) : epochScale.bornNanos();
  }
}
