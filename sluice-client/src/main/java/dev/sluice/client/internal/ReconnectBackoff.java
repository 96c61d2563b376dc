package dev.sluice.client.internal;

import java.util.concurrent.ThreadLocalRandom;

/**
 * How long to wait before the next attempt: twice as long each time, and never quite the same, so
 * that many clients do not come back at once. Not thread-safe.
 */
public final class ReconnectBackoff {
  private static final long FIRST_MILLIS = 50;
  private static final long LONGEST_MILLIS = 3_200;

  private int attempts;

  /** Something worked. */
  public void reset() {
    attempts = 0;
  }

  /** How often in a row nothing worked. */
  public int attempts() {
    return attempts;
  }

  long nextMillis() {
    long most = Math.min(LONGEST_MILLIS, FIRST_MILLIS << Math.min(attempts, 10));
    attempts++;
    return ThreadLocalRandom.current().nextLong(most / 2, most + 1);
  }
}
