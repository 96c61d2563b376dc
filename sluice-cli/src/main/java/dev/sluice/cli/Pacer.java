package dev.sluice.cli;

import dev.sluice.NanoClock;
import java.time.Duration;

/** The time by which a live command goes, and what happens in it. */
interface Pacer extends AutoCloseable {

  /** The clock that goes with it. */
  NanoClock clock();

  /** Runs {@code action} again and again, never twice at a time, beside the others. */
  void every(Duration period, Runnable action);

  /** Waits until the clock shows {@code nanos}; false if the user wants no more. */
  boolean sleepUntil(long nanos);

  /** Ends all actions; none runs when this returns. */
  void stopActions();

  /** Says that the command is done. */
  @Override
  void close();
}
