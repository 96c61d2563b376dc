package dev.sluice.cli.simulate.scenario;

import dev.sluice.cli.text.Durations;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Counts the tokens that one throttle key gives, apart from the bucket that gives them: how many in
 * all, and how many in the worst window.
 */
public final class GrantedTokenMeter {
  private static final long[] WINDOWS_SECONDS = {1, 60, 3_600, 86_400};

  private final long windowNanos;
  private final double legal;
  private final Deque<GrantedTokenMeter.Charge> lately = new ArrayDeque<>();
  private long inWindow;
  private long worst;
  private long total;

  private record Charge(long at, long tokens) {}

  GrantedTokenMeter(Scenario.ScenarioLimit throttle) {
    long seconds = window(throttle.rate());
    windowNanos = seconds * Durations.SECOND;
    legal = throttle.burst() + throttle.rate() * seconds;
  }

  /** The shortest of the usual ones in which a token accrues. */
  private static long window(double rate) {
    for (long seconds : WINDOWS_SECONDS) {
      if (rate * seconds >= 1) {
        return seconds;
      }
    }
    return WINDOWS_SECONDS[WINDOWS_SECONDS.length - 1];
  }

  void take(long tokens, long now) {
    GrantedTokenMeter.Charge last = lately.peekLast();
    if (last != null && last.at() == now) {
      // Many at once are one: what is kept is bounded by the rate.
      lately.removeLast();
      lately.addLast(new GrantedTokenMeter.Charge(now, last.tokens() + tokens));
    } else {
      lately.addLast(new GrantedTokenMeter.Charge(now, tokens));
    }
    for (GrantedTokenMeter.Charge first = lately.getFirst();
        first.at() < now - windowNanos;
        first = lately.getFirst()) {
      inWindow -= first.tokens();
      lately.removeFirst();
    }
    inWindow += tokens;
    worst = Math.max(worst, inWindow);
    total += tokens;
  }

  long total() {
    return total;
  }

  /** The most that was given within {@link #windowNanos}, both ends included. */
  public long worst() {
    return worst;
  }

  /** The most that may be. */
  public double legal() {
    return legal;
  }

  long windowNanos() {
    return windowNanos;
  }
}
