package dev.sluice.governor;

/**
 * The effect of a priority class's share.
 *
 * @since 0.1
 */
public enum Allocation {
  /** A class is granted only while usage stays under its share of the capacity. */
  CEILING,
  /** A class is granted its share of what it asks for, and must make do with that. */
  SCALE,
  /** Shares mean nothing: classes only order the waiting list. */
  OFF
}
