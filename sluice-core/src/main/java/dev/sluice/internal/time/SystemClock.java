package dev.sluice.internal.time;

import dev.sluice.NanoClock;

/** {@link System#nanoTime}. */
public enum SystemClock implements NanoClock {
  INSTANCE;

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }
}
