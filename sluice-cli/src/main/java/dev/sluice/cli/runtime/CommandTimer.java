package dev.sluice.cli.runtime;

import dev.sluice.NanoClock;

/** The clock and timer of a live command. */
public interface CommandTimer extends AutoCloseable {

  /** Returns the clock of this timer. */
  NanoClock clock();

  /** Waits until the clock shows {@code nanos}; returns false if the user stops the command. */
  boolean sleepUntil(long nanos);

  /** Reports that the command is done. */
  @Override
  void close();
}
