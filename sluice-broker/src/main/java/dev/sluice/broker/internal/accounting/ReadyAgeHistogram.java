package dev.sluice.broker.internal.accounting;

import java.time.Duration;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts the ready messages of a queue by the second since which they have been ready, and so knows
 * how long the oldest of them has waited. Used by the thread of the engine alone.
 *
 * <p>A message is ready from the moment at which it may be delivered: when it is stored, or when
 * its delay ends. One that a consumer gives back is as old as before.
 */
public final class ReadyAgeHistogram {
  /** An {@code int} counts seconds from 2020 to 2088. */
  private static final long EPOCH_SECONDS = 1_577_836_800;

  private static final class Count {
    long messages;
  }

  private final NavigableMap<Integer, Count> bySecond = new TreeMap<>();

  /** Returns {@code brokerTime} in the seconds in which messages are counted. */
  public static int second(long brokerTime) {
    long second = TimeUnit.NANOSECONDS.toSeconds(brokerTime) - EPOCH_SECONDS;
    return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, second));
  }

  public void add(int second) {
    bySecond.computeIfAbsent(second, absent -> new Count()).messages++;
  }

  public void remove(int second) {
    Count count = bySecond.get(second);
    if (count == null) {
      throw new IllegalStateException("no message has been ready since second " + second);
    }
    if (--count.messages == 0) {
      bySecond.remove(second);
    }
  }

  /** Returns how long the oldest ready message has waited, in whole seconds; zero without one. */
  public Duration oldest(long now) {
    Map.Entry<Integer, Count> first = bySecond.firstEntry();
    return first == null
        ? Duration.ZERO
        : Duration.ofSeconds(Math.max(0, (long) second(now) - first.getKey()));
  }
}
