package dev.sluice.internal.bucket;

import dev.sluice.Limit;

/**
 * A token bucket for one thread: the arithmetic of {@link BucketMath} over plain fields.
 *
 * <p>Instants never go back; its owner sees to it, and numbers the charges in their order.
 */
public final class ConfinedTokenBucket {
  /** No time brings the tokens. */
  public static final long NEVER = Long.MAX_VALUE;

  /*
   * Why a return cannot over-grant. Let D(s) be the debt since a charge of c units, and x the lowest
   * of D(s) and c until now. D - x is then the debt of a bucket that was charged c - x instead: it
   * never falls below zero, so no refill is counted that a full bucket would have lost, and each
   * later charge that fitted beside D fits beside D - x. So after a return of x the bucket is one of
   * which c - x was taken, and the bound of BucketMath holds for what was taken and not returned.
   * DebtHistory has D at its low points, which lie just before charges, and is lowered with D.
   */

  private EpochScale epochScale;
  private long fullAt;
  private final DebtHistory history = new DebtHistory();

  /** Charges up to this one cannot be returned: the level was set after them. */
  private long settledUntil;

  /**
   * A full bucket.
   *
   * @param lastCharge the number of the last charge before it; it has no part in it
   */
  public ConfinedTokenBucket(UnitScale scale, long lastCharge, long nowNanos) {
    this.epochScale = EpochScale.first(scale, nowNanos);
    this.settledUntil = lastCharge;
  }

  /** Moves from time 0 to the first time that a scheduler is given, with the same debt. */
  public void startAt(long nowNanos) {
    long debt = debt(0);
    epochScale = EpochScale.first(epochScale.scale(), nowNanos);
    fullAt = debt == 0 ? 0 : epochScale.unitsAt(nowNanos) + debt;
  }

  public boolean has(long tokens, long nowNanos) {
    UnitScale scale = epochScale.scale();
    return tokens <= scale.capacity()
        && BucketMath.take(
                fullAt, epochScale.unitsAt(nowNanos), scale.cost(tokens), scale.capacityUnits())
            >= 0;
  }

  /**
   * Takes {@code tokens}, which must be there.
   *
   * @param charge its number, by which they can be returned
   */
  public void take(long tokens, long charge, long nowNanos) {
    if (!epochScale.covers(nowNanos)) {
      moveTo(epochScale.scale(), nowNanos);
    }
    history.record(charge, debt(nowNanos));
    UnitScale scale = epochScale.scale();
    long next =
        BucketMath.take(
            fullAt, epochScale.unitsAt(nowNanos), scale.cost(tokens), scale.capacityUnits());
    if (next < 0) {
      throw new IllegalStateException(tokens + " tokens are not there: " + this);
    }
    fullAt = next;
  }

  /** Returns whether {@code charge} was taken from this bucket since its level was last set. */
  public boolean isCharged(long charge) {
    return charge > settledUntil;
  }

  /**
   * Returns the tokens of {@code charge} that refills have not returned yet: no more than the
   * lowest debt since then. To be called at most once for a charge, and only if it {@link
   * #isCharged}.
   *
   * @param tokens what it took
   */
  public void returnTokens(long tokens, long charge, long nowNanos) {
    long lowest = Math.min(debt(nowNanos), history.lowestSince(charge));
    long units = Math.min(epochScale.scale().cost(tokens), lowest);
    fullAt -= units;
    history.correct(charge, units);
  }

  private long debt(long nowNanos) {
    return Math.max(0, fullAt - epochScale.unitsAt(nowNanos));
  }

  /**
   * Returns the nanoseconds until {@code tokens} are available, if no tokens are taken; 0 if they
   * are now, {@link #NEVER} if they never are.
   */
  public long nanosUntil(long tokens, long nowNanos) {
    if (has(tokens, nowNanos)) {
      return 0;
    }
    UnitScale scale = epochScale.scale();
    return tokens > scale.capacity() || !scale.refills()
        ? NEVER
        : epochScale.nanosUntil(fullAt + scale.cost(tokens) - scale.capacityUnits(), nowNanos);
  }

  public boolean refills() {
    return epochScale.scale().refills();
  }

  /** Returns whether the bucket refills, but never holds {@code tokens}. */
  public boolean neverHolds(long tokens) {
    return refills() && tokens > epochScale.scale().capacity();
  }

  /** Returns the time in which {@code tokens} accrue; zero if they never do. */
  public long nanosToMint(long tokens) {
    UnitScale scale = epochScale.scale();
    return scale.refills() ? scale.elapsedAt(scale.cost(tokens)) : 0;
  }

  /**
   * Goes over to another rate: tokens kept, clamped to the new burst.
   *
   * @param change its number among the charges
   */
  public void configure(UnitScale scale, long change, long nowNanos) {
    UnitScale old = epochScale.scale();
    if (!scale.equals(old)) {
      // The debt under the old rate bounds returns too: a higher burst adds to the debt.
      history.record(change, debt(nowNanos));
      moveTo(scale, nowNanos);
      history.convert(
          debt ->
              BucketMath.scaleDown(
                  debt, scale.unitsPerToken(), old.unitsPerToken(), BucketMath.MAX_DEBT_UNITS));
    }
  }

  private void moveTo(UnitScale scale, long nowNanos) {
    EpochScale next = epochScale.next(scale, epochScale.epochNanos(), nowNanos);
    fullAt = epochScale.carry(fullAt, next);
    epochScale = next;
  }

  /**
   * Holds {@code tokens} from now on, rounded down; at most its burst.
   *
   * @param lastCharge the number of the last charge before it; none until then can be returned
   */
  public void setLevel(double tokens, long lastCharge, long nowNanos) {
    settledUntil = lastCharge;
    moveTo(epochScale.scale(), nowNanos);
    UnitScale scale = epochScale.scale();
    // A step down, for the product may have been rounded up.
    double units = Math.max(0, Math.nextDown(tokens * scale.unitsPerToken()));
    long level = Math.min((long) units, scale.capacityUnits());
    fullAt = epochScale.unitsAt(nowNanos) + scale.capacityUnits() - level;
  }

  public Limit limit() {
    return epochScale.scale().limit();
  }

  /** Tokens there, fractions included. */
  public double level(long nowNanos) {
    UnitScale scale = epochScale.scale();
    long units = BucketMath.level(fullAt, epochScale.unitsAt(nowNanos), scale.capacityUnits());
    return (double) units / scale.unitsPerToken();
  }

  @Override
  public String toString() {
    return "ConfinedTokenBucket[" + limit() + "]";
  }
}
