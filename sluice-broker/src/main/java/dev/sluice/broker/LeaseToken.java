package dev.sluice.broker;

import java.util.Comparator;

/**
 * Identifies a lease: a message is settled only by the token of its present lease.
 *
 * @param epoch the number of times that the broker's directory had been opened
 * @param number the number of the lease since then
 * @since 0.1
 */
public record LeaseToken(int epoch, long number) implements Comparable<LeaseToken> {
  private static final Comparator<LeaseToken> BY_AGE =
      Comparator.comparingInt(LeaseToken::epoch).thenComparingLong(LeaseToken::number);

  /** Orders tokens by age, the oldest first. */
  @Override
  public int compareTo(LeaseToken other) {
    return BY_AGE.compare(this, other);
  }
}
