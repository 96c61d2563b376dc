package dev.sluice.broker.internal.engine;

/** Something that is due at an instant; see {@link TimerHeap}. */
abstract class EngineTimer {
  /** Broker time. */
  long due;

  /** Where it stands in {@link TimerHeap}; -1 if it does not. */
  int slot = -1;
}
