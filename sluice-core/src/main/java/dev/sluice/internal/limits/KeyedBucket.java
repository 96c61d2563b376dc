package dev.sluice.internal.limits;

import dev.sluice.internal.bucket.BucketMath;
import dev.sluice.internal.bucket.EpochScale;
import dev.sluice.internal.bucket.UnitScale;
import dev.sluice.internal.util.SpinBackoff;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The bucket of one key under one limit: small, because there may be millions.
 *
 * <p>Thread-safe. It serves until it is sealed; then {@link BucketTable} has its replacement.
 */
public final class KeyedBucket {
  /*
   * The word:
   *
   *    63     62    61                                                            0
   *  +------+------+--------------------------------------------------------------+
   *  | LOCK | SEAL |  full-at, in units of the epoch scale (never negative)       |
   *  +------+------+--------------------------------------------------------------+
   *
   * LOCK: one thread alone may write the word, which keeps the full-at from before. SEAL: no thread
   * ever writes it again.
   *
   * Invariant. Full-at never decreases, so that an equal word means that nothing happened between.
   *
   * Concurrency. Without LOCK, every change is one compare-and-set of the whole word. Unlike a
   * cell's, these are volatile: several keys can be taken at once, and a thread that saw the new
   * level of one must not see the old level of another. docs/concurrency.md describes the protocol.
   */
  private static final long LOCK = 1L << 63;

  private static final long SEAL = 1L << 62;

  private static final long FLAGS = LOCK | SEAL;

  /** Outcome: this bucket is sealed, look the key up again. */
  public static final long MOVED = Long.MIN_VALUE;

  /** Outcome: the tokens are there, but only a later epoch scale can note their taking. */
  public static final long EXPIRED = Long.MIN_VALUE + 1;

  private static final VarHandle WORD;

  static {
    try {
      WORD = MethodHandles.lookup().findVarHandle(KeyedBucket.class, "word", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // Immutable.
  final String key;
  final EpochScale epochScale;

  /** The template that made it; null if its limit was set for this name alone. */
  final @Nullable LimitTemplate template;

  /** Its rank in the order of locking; unique in one map. */
  final long id;

  /** Atomic. */
  @SuppressWarnings("unused") // read through WORD
  private long word;

  KeyedBucket(
      String key, EpochScale epochScale, @Nullable LimitTemplate template, long id, long fullAt) {
    this.key = key;
    this.epochScale = epochScale;
    this.template = template;
    this.id = id;
    this.word = fullAt;
  }

  /** Returns whether the limit that created this bucket is still the one of its key. */
  boolean isCurrent() {
    return template == null || !template.isRetired();
  }

  /**
   * Takes {@code cost} tokens.
   *
   * @return the new full-at; if denied, the bitwise complement of the present one; or {@link
   *     #MOVED} or {@link #EXPIRED}
   */
  public long take(long cost, long nowNanos) {
    UnitScale scale = epochScale.scale();
    long units = units(scale, cost);
    long now = unitsAt(nowNanos);
    for (int tries = 0; ; tries++) {
      long seen = (long) WORD.getVolatile(this);
      if ((seen & FLAGS) == 0) {
        long next = BucketMath.take(seen, now, units, scale.capacityUnits());
        if (next < 0) {
          return next;
        }
        if (!epochScale.covers(nowNanos)) {
          return EXPIRED;
        }
        if (WORD.weakCompareAndSet(this, seen, next)) {
          return next;
        }
      } else if ((seen & SEAL) != 0) {
        return MOVED;
      }
      SpinBackoff.await(tries);
    }
  }

  /** The outcome {@link #take} would have at this full-at, were it neither locked nor sealed. */
  long outcome(long fullAt, long cost, long nowNanos) {
    UnitScale scale = epochScale.scale();
    long next =
        BucketMath.take(fullAt, unitsAt(nowNanos), units(scale, cost), scale.capacityUnits());
    return next < 0 || epochScale.covers(nowNanos) ? next : EXPIRED;
  }

  /** Waits for the lock and takes it; false if sealed. */
  boolean lock() {
    for (int tries = 0; ; tries++) {
      long seen = (long) WORD.getVolatile(this);
      if ((seen & SEAL) != 0) {
        return false;
      }
      if ((seen & LOCK) == 0 && WORD.weakCompareAndSet(this, seen, seen | LOCK)) {
        return true;
      }
      SpinBackoff.await(tries);
    }
  }

  /** Takes the lock if full-at is what the caller saw and the lock is free. */
  boolean lockIf(long seenFullAt) {
    return WORD.weakCompareAndSet(this, seenFullAt, seenFullAt | LOCK);
  }

  /** Gives the lock back with a new full-at. */
  void unlockAt(long fullAt) {
    WORD.setRelease(this, fullAt);
  }

  /** Gives the lock back, full-at as it was. */
  void unlock() {
    WORD.setRelease(this, fullAt());
  }

  /** Ends the service of this bucket; the caller holds the lock. */
  void unlockSealed() {
    WORD.setRelease(this, fullAt() | SEAL);
  }

  /** Seals this bucket if it is full at {@code nowNanos} and not locked. */
  public boolean sealIfFull(long nowNanos) {
    long seen = (long) WORD.getVolatile(this);
    return (seen & FLAGS) == 0
        && seen <= unitsAt(nowNanos)
        && WORD.compareAndSet(this, seen, seen | SEAL);
  }

  boolean isSealed() {
    return ((long) WORD.getVolatile(this) & SEAL) != 0;
  }

  /** Waits until the lock is free and returns the word: full-at, or a negative number if sealed. */
  long settledFullAt() {
    long seen = settled();
    return (seen & SEAL) != 0 ? MOVED : seen;
  }

  /** Full-at; final if sealed, or as long as the caller holds the lock. */
  long fullAt() {
    return (long) WORD.getOpaque(this) & ~FLAGS;
  }

  /** The earliest instant at which it is full; only where tokens come back. */
  long fullAtNanos() {
    return epochScale.epochNanos() + epochScale.scale().elapsedAt(fullAt());
  }

  private long settled() {
    for (int tries = 0; ; tries++) {
      long seen = (long) WORD.getVolatile(this);
      if ((seen & LOCK) == 0) {
        return seen;
      }
      SpinBackoff.await(tries);
    }
  }

  private static long units(UnitScale scale, long cost) {
    return cost == 1 ? scale.unitsPerToken() : scale.cost(cost);
  }

  /**
   * {@link EpochScale#unitsAt}, without a division in the usual case: steps are nanoseconds here.
   */
  private long unitsAt(long nowNanos) {
    UnitScale scale = epochScale.scale();
    long elapsedNanos = nowNanos - epochScale.epochNanos();
    return Long.compareUnsigned(elapsedNanos, scale.horizonNanos()) < 0
        ? elapsedNanos * scale.unitsPerStep()
        : epochScale.unitsAt(nowNanos);
  }
}
