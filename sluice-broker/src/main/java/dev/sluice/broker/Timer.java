package dev.sluice.broker;

/** Something that is due at an instant; see {@link Timers}. */
abstract class Timer {
  /** Broker time. */
  long due;

  /** Where it stands in {@link Timers}; -1 if it does not. */
  int slot = -1;
}
