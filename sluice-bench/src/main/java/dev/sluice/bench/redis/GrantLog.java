package dev.sluice.bench.redis;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * When one thread was granted tokens, in milliseconds since a common start.
 *
 * <p>The moment of a grant is somewhere between its call and its answer; a window holds for certain
 * those of which it has both.
 */
final class GrantLog {
  private static final long NANOS_PER_MS = 1_000_000;

  private final long startNanos;

  /** Call in the upper half, answer in the lower one, of those that have them in common. */
  private long[] spans = new long[64];

  private long[] counts = new long[64];
  private int size;

  GrantLog(long startNanos) {
    this.startNanos = startNanos;
  }

  void granted(long callNanos, long answerNanos) {
    long span = millis(callNanos) << Integer.SIZE | millis(answerNanos);
    if (size == 0 || spans[size - 1] != span) {
      add(span);
    }
    counts[size - 1]++;
  }

  private long millis(long nanos) {
    return (nanos - startNanos) / NANOS_PER_MS;
  }

  private void add(long span) {
    if (size == spans.length) {
      spans = Arrays.copyOf(spans, 2 * size);
      counts = Arrays.copyOf(counts, 2 * size);
    }
    spans[size++] = span;
  }

  /** So many grants that were called for and answered in these milliseconds. */
  private record Span(int call, int answer, long grants) {}

  private Stream<Span> spans() {
    return IntStream.range(0, size)
        .mapToObj(i -> new Span((int) (spans[i] >>> Integer.SIZE), (int) spans[i], counts[i]));
  }

  /**
   * By how many tokens the worst of all windows, from each millisecond to each other, is above
   * capacity plus rate times time.
   *
   * @return zero if none is
   */
  static double excess(List<GrantLog> logs, long capacity, long perSecond) {
    Map<Integer, List<Span>> byCall =
        logs.stream().flatMap(GrantLog::spans).collect(Collectors.groupingBy(Span::call));
    int end = 1 + logs.stream().flatMap(GrantLog::spans).mapToInt(Span::answer).max().orElse(0);
    // By the time of their answer, those whose call is not before the window.
    long[] answered = new long[end];
    double worst = 0;
    for (int from = end - 1; from >= 0; from--) {
      byCall.getOrDefault(from, List.of()).forEach(span -> answered[span.answer] += span.grants);
      long granted = 0;
      for (int to = from; to < end; to++) {
        granted += answered[to];
        double allowed = capacity + perSecond * (to - from + 1) / 1e3;
        worst = Math.max(worst, granted - allowed);
      }
    }
    return worst;
  }
}
