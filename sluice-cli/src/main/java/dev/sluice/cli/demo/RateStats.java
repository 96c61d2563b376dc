package dev.sluice.cli.demo;

import dev.sluice.cli.text.JsonWriter;
import java.util.concurrent.TimeUnit;

/**
 * The grants of a limit, and the window that comes closest to the bound burst + rate · window, or
 * exceeds it most.
 *
 * @param granted all grants
 * @param millis time from the first to the last grant
 * @param worst the worst of all windows
 * @param worstSecond the worst window of at least a second
 */
public record RateStats(long granted, long millis, Window worst, Window worstSecond) {
  private static final long MILLIS_PER_SECOND = TimeUnit.SECONDS.toMillis(1);

  /** Times are rounded down to this resolution. */
  private static final long ROUNDING_MILLIS = 1;

  /**
   * From one grant to another, both included.
   *
   * @param granted how many there were
   * @param millis how long it was
   * @param legal how many there may have been
   */
  public record Window(long granted, long millis, long legal) {
    public static final Window NONE = new Window(0, 0, 0);

    public boolean isLegal() {
      return granted <= legal;
    }

    JsonWriter json() {
      return JsonWriter.object()
          .put("granted", granted)
          .put("millis", millis)
          .put("legalAtMost", legal);
    }
  }

  /** Looks at every window that begins and ends with one of {@code sorted}. */
  public static RateStats of(long[] sorted, long perSecond, long burst) {
    if (sorted.length == 0) {
      return new RateStats(0, 0, Window.NONE, Window.NONE);
    }
    return new RateStats(
        sorted.length,
        sorted[sorted.length - 1] - sorted[0],
        worst(sorted, 0, perSecond, burst),
        worst(sorted, MILLIS_PER_SECOND, perSecond, burst));
  }

  /** Returns the worst of the windows that are at least {@code leastMillis} long. */
  private static Window worst(long[] sorted, long leastMillis, long perSecond, long burst) {
    Window worst = Window.NONE;
    long mostExcess = Long.MIN_VALUE;
    int begin = 0;
    int candidate = 0;
    for (int end = 0; end < sorted.length; end++) {
      for (; candidate <= end && sorted[end] - sorted[candidate] >= leastMillis; candidate++) {
        if (balance(sorted, candidate, perSecond) < balance(sorted, begin, perSecond)) {
          begin = candidate;
        }
      }
      long excess = balance(sorted, end, perSecond) - balance(sorted, begin, perSecond);
      if (candidate > 0 && excess > mostExcess) {
        mostExcess = excess;
        worst = window(sorted, begin, end, perSecond, burst);
      }
    }
    return worst;
  }

  /** Earlier grants less the tokens accrued until then, in thousandths. */
  private static long balance(long[] sorted, int index, long perSecond) {
    return index * MILLIS_PER_SECOND - sorted[index] * perSecond;
  }

  private static Window window(long[] sorted, int begin, int end, long perSecond, long burst) {
    long millis = sorted[end] - sorted[begin];
    return new Window(
        end - begin + 1,
        millis,
        burst + (millis + ROUNDING_MILLIS) * perSecond / MILLIS_PER_SECOND);
  }
}
