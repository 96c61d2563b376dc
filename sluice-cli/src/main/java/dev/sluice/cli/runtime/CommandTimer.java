package dev.sluice.cli.runtime;

import dev.sluice.NanoClock;

/** The time by which a live command goes. */
public interface CommandTimer extends AutoCloseable {

  /** The clock that goes with it. */
  NanoClock clock();

  /** Waits until the clock shows {@code nanos}; false if the user wants no more. */
  boolean sleepUntil(long nanos);

  /** Says that the command is done. */
  @Override
  void close();
}
