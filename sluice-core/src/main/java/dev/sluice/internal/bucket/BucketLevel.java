package dev.sluice.internal.bucket;

/**
 * The level of a bucket that is unused, or that is being moved to another limit.
 *
 * @param epochScale in which {@code fullAt} is expressed
 * @param fullAt the instant at which it is full, in units of the epoch scale
 */
public record BucketLevel(EpochScale epochScale, long fullAt) {
  /**
   * Returns the level of a bucket that is empty at {@code atNanos}, which the epoch scale covers
   * with room to spare.
   */
  public static BucketLevel emptyAt(EpochScale epochScale, long atNanos) {
    return new BucketLevel(
        epochScale, epochScale.unitsAt(atNanos) + epochScale.scale().capacityUnits());
  }

  /**
   * Returns the level with the same tokens at {@code atNanos} on another epoch scale, clamped to
   * its capacity.
   */
  public BucketLevel carriedTo(EpochScale next, long atNanos) {
    return new BucketLevel(next, epochScale.carry(fullAt, next.usedFrom(atNanos)));
  }

  /** No grant that led here was later; a bucket made from this must reckon from here on. */
  public long sinceNanos() {
    return epochScale.usedUntilNanos(fullAt);
  }

  /** Returns whether the bucket is full at {@code nowNanos}. */
  public boolean isFull(long nowNanos) {
    return fullAt <= epochScale.unitsAt(nowNanos);
  }
}
