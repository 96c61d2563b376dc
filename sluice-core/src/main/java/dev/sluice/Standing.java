package dev.sluice;

/**
 * How a bucket stands that nobody has touched, or that is about to go over to another limit.
 *
 * @param axis on which it reckons
 * @param fullAt the instant at which it is full, in units of the axis
 */
record Standing(Axis axis, long fullAt) {
  /** Without a token at {@code atNanos}, which the axis covers with room to spare. */
  static Standing emptyAt(Axis axis, long atNanos) {
    return new Standing(axis, axis.unitsAt(atNanos) + axis.scale().capacityUnits());
  }

  /** The same tokens from {@code atNanos} on, clamped to what the limit of {@code next} allows. */
  Standing carriedTo(Axis next, long atNanos) {
    return new Standing(next, axis.carry(fullAt, next.usedFrom(atNanos)));
  }

  /** No grant that led here was later; a bucket made from this must reckon from here on. */
  long sinceNanos() {
    return axis.usedUntilNanos(fullAt);
  }

  /** Whether nothing is missing at {@code nowNanos}. */
  boolean isFull(long nowNanos) {
    return fullAt <= axis.unitsAt(nowNanos);
  }
}
