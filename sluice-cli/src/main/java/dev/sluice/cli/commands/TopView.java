package dev.sluice.cli.commands;

import dev.sluice.cli.text.Numbers;
import dev.sluice.cli.text.TerminalText;
import dev.sluice.client.QueueSummary;
import dev.sluice.client.ThrottleRate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Formats the output of {@code sluice top}: a function of two samples and the terminal size. */
public final class TopView {
  private static final String ROW = "%s  %9s  %9s  %9s  %9s  %9s  %9s";

  /** The width of a row without the name. */
  private static final int NUMBERS = 66;

  private static final int MIN_NAME = 8;
  private static final String CUT = "...";

  private TopView() {}

  /**
   * Returns the lines to show.
   *
   * @param address the server's address
   * @param before the previous sample, if any
   * @param now the sample
   * @param width the longest line
   * @param height the most lines; 0: unlimited
   */
  public static List<String> lines(
      String address, @Nullable TopSample before, TopSample now, int width, int height) {
    int name = Math.max(MIN_NAME, Math.min(width - NUMBERS, longestName(now)));
    List<String> lines = new ArrayList<>();
    lines.add(
        cut(
            "sluice %s: %d queues, %d messages, %d in flight"
                .formatted(
                    TerminalText.line(address), now.queues().size(), now.depth(), now.inFlight()),
            width));
    lines.add(
        ROW.formatted(
            pad("QUEUE", name), "DEPTH", "IN FLIGHT", "CONSUMERS", "IN/S", "OUT/S", "ACKED/S"));
    for (QueueSummary queue : now.queues()) {
      lines.add(row(name, queue, before, now));
    }
    return fitting(lines, throttled(now, name), height).stream()
        .map(line -> line.substring(0, Math.min(line.length(), width)))
        .toList();
  }

  private static String row(
      int name, QueueSummary queue, @Nullable TopSample before, TopSample now) {
    Optional<TopRates> rates = TopRates.of(before, now, queue);
    return ROW.formatted(
        pad(queue.name(), name),
        queue.depth(),
        queue.inFlight(),
        queue.consumers(),
        perSecond(rates.map(TopRates::enqueued)),
        perSecond(rates.map(TopRates::delivered)),
        perSecond(rates.map(TopRates::acked)));
  }

  private static List<String> throttled(TopSample now, int name) {
    List<String> lines = new ArrayList<>();
    if (!now.throttled().isEmpty()) {
      lines.add("");
      lines.add("%s  %9s  %9s".formatted(pad("THROTTLED KEY", name), "RATE/S", "BURST"));
    }
    for (ThrottleRate rate : now.throttled()) {
      lines.add(
          "%s  %9s  %9s"
              .formatted(
                  pad(rate.key(), name),
                  Numbers.format(rate.ratePerSecond()),
                  Numbers.format(rate.burst())));
    }
    return lines;
  }

  /** Drops lines that do not fit; throttled keys get at most half of the height. */
  private static List<String> fitting(List<String> queues, List<String> throttled, int height) {
    List<String> all = new ArrayList<>();
    if (height <= 0 || queues.size() + throttled.size() <= height) {
      all.addAll(queues);
      all.addAll(throttled);
      return all;
    }
    int lower = Math.min(throttled.size(), Math.max(height / 2, height - queues.size()));
    all.addAll(queues.subList(0, Math.min(queues.size(), height - lower)));
    all.addAll(throttled.subList(0, lower));
    return all;
  }

  private static int longestName(TopSample now) {
    int queues = now.queues().stream().mapToInt(queue -> queue.name().length()).max().orElse(0);
    int keys = now.throttled().stream().mapToInt(rate -> rate.key().length()).max().orElse(0);
    return Math.max(
        now.throttled().isEmpty() ? 0 : "THROTTLED KEY".length(), Math.max(queues, keys));
  }

  private static String perSecond(Optional<Double> rate) {
    return rate.map(known -> String.format(Locale.ROOT, "%.1f", known)).orElse("-");
  }

  private static String pad(String text, int width) {
    String cut = cut(TerminalText.line(text), width);
    return cut + " ".repeat(width - cut.length());
  }

  private static String cut(String text, int width) {
    return text.length() <= width
        ? text
        : text.substring(0, Math.max(0, width - CUT.length())) + CUT;
  }
}
