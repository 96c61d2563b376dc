package dev.sluice.governor;

/**
 * Why somebody cannot go now.
 *
 * @param by what is short
 * @param nanos until it is not, if nobody takes any; {@link #UNKNOWN} if time alone does not help
 */
record Held(Dimension by, long nanos) {
  static final long UNKNOWN = Long.MAX_VALUE;

  /** Nothing is short, but others go first. */
  static final Held BEHIND_OTHERS = new Held(Dimension.LINE, UNKNOWN);
}
