package dev.sluice.internal.bucket;

/**
 * How a bucket stands that nobody has touched, or that is about to go over to another limit.
 *
 * @param epochScale on which it reckons
 * @param fullAt the instant at which it is full, in units of the epoch scale
 */
public record BucketLevel(EpochScale epochScale, long fullAt) {
  /** Without a token at {@code atNanos}, which the epoch scale covers with room to spare. */
  public static BucketLevel emptyAt(EpochScale epochScale, long atNanos) {
    return new BucketLevel(
        epochScale, epochScale.unitsAt(atNanos) + epochScale.scale().capacityUnits());
  }

  /** The same tokens from {@code atNanos} on, clamped to what the limit of {@code next} allows. */
  public BucketLevel carriedTo(EpochScale next, long atNanos) {
    return new BucketLevel(next, epochScale.carry(fullAt, next.usedFrom(atNanos)));
  }

  /** No grant that led here was later; a bucket made from this must reckon from here on. */
  public long sinceNanos() {
    return epochScale.usedUntilNanos(fullAt);
  }

  /** Whether nothing is missing at {@code nowNanos}. */
  public boolean isFull(long nowNanos) {
    return fullAt <= epochScale.unitsAt(nowNanos);
  }
}
