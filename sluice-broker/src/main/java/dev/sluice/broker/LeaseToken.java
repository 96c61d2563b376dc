package dev.sluice.broker;

import java.util.Comparator;

/**
 * What a consumer shows to settle a message: only the present lease of a message can.
 *
 * @param epoch how often the broker's directory had been opened
 * @param number counts the leases since then
 * @since 0.1
 */
public record LeaseToken(int epoch, long number) implements Comparable<LeaseToken> {
  private static final Comparator<LeaseToken> BY_AGE =
      Comparator.comparingInt(LeaseToken::epoch).thenComparingLong(LeaseToken::number);

  /** Older ones first. */
  @Override
  public int compareTo(LeaseToken other) {
    return BY_AGE.compare(this, other);
  }
}
