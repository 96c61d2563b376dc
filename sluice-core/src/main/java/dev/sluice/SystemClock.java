package dev.sluice;

/** {@link System#nanoTime}. */
enum SystemClock implements NanoClock {
  INSTANCE;

  @Override
  public long nanoTime() {
    return System.nanoTime();
  }
}
