package dev.sluice.cli.demo;

import dev.sluice.cli.text.JsonWriter;
import java.util.stream.LongStream;

/**
 * How long some waited, in milliseconds.
 *
 * @param count how many
 * @param p50 half of them no longer
 * @param p99 99 of 100 of them no longer
 * @param longest none of them longer
 */
public record WaitStats(int count, long p50, long p99, long longest) {
  private static final int PERCENT = 100;

  public static WaitStats of(LongStream waits) {
    long[] sorted = waits.sorted().toArray();
    return new WaitStats(
        sorted.length, percentile(sorted, 50), percentile(sorted, 99), percentile(sorted, PERCENT));
  }

  /** The smallest that so many percent do not exceed; 0 of none. */
  private static long percentile(long[] sorted, int percent) {
    int rank = (sorted.length * percent + PERCENT - 1) / PERCENT;
    return sorted.length == 0 ? 0 : sorted[rank - 1];
  }

  JsonWriter json() {
    return JsonWriter.object().put("p50", p50).put("p99", p99).put("longest", longest);
  }
}
