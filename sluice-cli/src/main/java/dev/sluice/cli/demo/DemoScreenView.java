package dev.sluice.cli.demo;

import dev.sluice.cli.runtime.AlternateScreen;
import dev.sluice.cli.runtime.CommandContext;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The demo on the screen of a terminal, rewritten in place. */
public final class DemoScreenView implements DemoView {
  private static final int BAR = 40;
  private static final long RATE_MILLIS = 1_000;

  private final AlternateScreen screen;
  private final String console;
  private final List<String> events = new ArrayList<>();
  private @Nullable DemoStatus rateSince;
  private double rate;

  public DemoScreenView(PrintWriter out, CommandContext context, String console) {
    this.screen = new AlternateScreen(out, context);
    this.console = console;
  }

  @Override
  public void event(long millis, String text) {
    events.add(String.format(Locale.ROOT, "%8s  %s", DemoStatus.seconds(millis), text));
  }

  @Override
  public void tick(DemoStatus status) {
    DemoStatus before = rateSince;
    if (before == null || status.millis() - before.millis() >= RATE_MILLIS) {
      rate = before == null ? 0 : status.perSecond(before);
      rateSince = status;
    }
    AlternateScreen.Size size = screen.size();
    screen.show(
        lines(console, rate, status, events).stream()
            .map(line -> line.substring(0, Math.min(line.length(), size.width())))
            .limit(size.height())
            .toList());
  }

  /** Returns the lines to show. */
  public static List<String> lines(
      String console, double rate, DemoStatus status, List<String> events) {
    List<String> lines = new ArrayList<>();
    lines.add(
        "sluice demo  %s  server %s, console %s"
            .formatted(DemoStatus.seconds(status.millis()), status.server(), console));
    lines.add("");
    lines.add(
        String.format(
            Locale.ROOT,
            "provider [%s] %.0f/s of %d/s, burst %d",
            bar(rate / DemoScenario.RATE_PER_SECOND),
            rate,
            DemoScenario.RATE_PER_SECOND,
            DemoScenario.BURST));
    lines.add(
        "%-14s %9s %10s %9s %10s".formatted("TENANT", "SENT", "DELIVERED", "WAITING", "LAST WAIT"));
    lines.add(tenant(DemoScenario.NOISY, status.noisy()));
    lines.add(tenant(DemoScenario.QUIET, status.quiet()));
    lines.add("");
    lines.add(
        "%s, %,d tokens/s, 5 times as much requested"
            .formatted(DemoModelCallers.MODEL, DemoModelCallers.TOKENS_PER_SECOND));
    lines.add(
        "%-14s %9s %10s %9s %10s"
            .formatted("CLASS", "REQUESTED", "GRANTED", "WAITING", "WAIT P50"));
    status.classes().forEach(each -> lines.add(priority(each)));
    lines.add("");
    lines.addAll(events);
    return lines;
  }

  private static String bar(double part) {
    int marks = (int) Math.round(Math.min(1, part) * BAR);
    return "#".repeat(marks) + ".".repeat(BAR - marks);
  }

  private static String tenant(String name, MessageLog.Count count) {
    return "%-14s %9d %10d %9d %10s"
        .formatted(
            name,
            count.sent(),
            count.delivered(),
            count.sent() - count.delivered(),
            DemoTextReport.time(count.lastWaitMillis()));
  }

  private static String priority(ModelCallLog.PriorityClassStats each) {
    return "%-14s %9d %10d %9d %10s"
        .formatted(
            each.priority(),
            each.requested(),
            each.granted(),
            each.waiting(),
            DemoTextReport.time(each.waits().p50()));
  }

  @Override
  public void close() {
    screen.close();
  }
}
