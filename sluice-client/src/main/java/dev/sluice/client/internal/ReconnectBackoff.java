package dev.sluice.client.internal;

import java.util.concurrent.ThreadLocalRandom;

/**
 * The time before the next attempt to connect: doubled each time and randomized, so that many
 * clients do not reconnect at the same time. Not thread-safe.
 */
public final class ReconnectBackoff {
  private static final long FIRST_MILLIS = 50;
  private static final long LONGEST_MILLIS = 3_200;

  private int attempts;

  /** Restarts with the shortest time, after a success. */
  public void reset() {
    attempts = 0;
  }

  /** Returns the number of failures in a row. */
  public int attempts() {
    return attempts;
  }

  long nextMillis() {
    long most = Math.min(LONGEST_MILLIS, FIRST_MILLIS << Math.min(attempts, 10));
    attempts++;
    return ThreadLocalRandom.current().nextLong(most / 2, most + 1);
  }
}
