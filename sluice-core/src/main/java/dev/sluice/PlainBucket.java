package dev.sluice;

/**
 * A token bucket for one thread: the arithmetic of {@link BucketMath} over plain fields.
 *
 * <p>Instants never go back; whoever owns the bucket sees to it.
 */
final class PlainBucket {
  /** No time brings the tokens. */
  static final long NEVER = Long.MAX_VALUE;

  private Axis axis;
  private long fullAt;

  /** A full bucket. */
  PlainBucket(Scale scale, long nowNanos) {
    this.axis = Axis.first(scale, nowNanos);
  }

  boolean has(long tokens, long nowNanos) {
    Scale scale = axis.scale();
    return tokens <= scale.capacity()
        && BucketMath.take(
                fullAt, axis.unitsAt(nowNanos), scale.cost(tokens), scale.capacityUnits())
            >= 0;
  }

  /** Takes {@code tokens}, which must be there. */
  void take(long tokens, long nowNanos) {
    if (!axis.covers(nowNanos)) {
      moveTo(axis.scale(), nowNanos);
    }
    Scale scale = axis.scale();
    long next =
        BucketMath.take(fullAt, axis.unitsAt(nowNanos), scale.cost(tokens), scale.capacityUnits());
    if (next < 0) {
      throw new IllegalStateException(tokens + " tokens are not there: " + this);
    }
    fullAt = next;
  }

  /** Nanoseconds until {@code tokens} are there, if nobody takes any: zero or {@link #NEVER}. */
  long nanosUntil(long tokens, long nowNanos) {
    if (has(tokens, nowNanos)) {
      return 0;
    }
    Scale scale = axis.scale();
    return tokens > scale.capacity() || !scale.refills()
        ? NEVER
        : axis.nanosUntil(fullAt + scale.cost(tokens) - scale.capacityUnits(), nowNanos);
  }

  /** How long it takes to make up for {@code tokens}; zero if it never does. */
  long nanosToMint(long tokens) {
    Scale scale = axis.scale();
    return scale.refills() ? scale.elapsedAt(scale.cost(tokens)) : 0;
  }

  /** Goes over to another rate: tokens kept, clamped to the new burst. */
  void configure(Scale scale, long nowNanos) {
    if (!scale.equals(axis.scale())) {
      moveTo(scale, nowNanos);
    }
  }

  private void moveTo(Scale scale, long nowNanos) {
    Axis next = axis.next(scale, axis.epochNanos(), nowNanos);
    fullAt = axis.carry(fullAt, next);
    axis = next;
  }

  /** Holds {@code tokens} from now on, rounded down; at most its burst. */
  void setLevel(double tokens, long nowNanos) {
    moveTo(axis.scale(), nowNanos);
    Scale scale = axis.scale();
    // A step down, for the product may have been rounded up.
    double units = Math.max(0, Math.nextDown(tokens * scale.unitsPerToken()));
    long level = Math.min((long) units, scale.capacityUnits());
    fullAt = axis.unitsAt(nowNanos) + scale.capacityUnits() - level;
  }

  Limit.Rate rate() {
    return (Limit.Rate) axis.scale().limit();
  }

  /** Tokens there, fractions included. */
  double level(long nowNanos) {
    Scale scale = axis.scale();
    long units = BucketMath.level(fullAt, axis.unitsAt(nowNanos), scale.capacityUnits());
    return (double) units / scale.unitsPerToken();
  }

  @Override
  public String toString() {
    return "PlainBucket[" + rate() + "]";
  }
}
