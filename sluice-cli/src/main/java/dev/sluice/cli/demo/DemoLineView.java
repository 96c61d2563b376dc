package dev.sluice.cli.demo;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The demo as lines of text, where none can be rewritten. */
public final class DemoLineView implements DemoView {
  private static final long PERIOD_MILLIS = 2_000;

  private final PrintWriter out;
  private @Nullable DemoStatus last;

  public DemoLineView(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void event(long millis, String text) {
    say(millis, text);
  }

  @Override
  public void tick(DemoStatus status) {
    DemoStatus before = last;
    if (before == null) {
      last = status;
    } else if (status.millis() - before.millis() >= PERIOD_MILLIS) {
      last = status;
      say(status.millis(), line(before, status));
    }
  }

  private static String line(DemoStatus before, DemoStatus status) {
    return String.format(
        Locale.ROOT,
        "  server %s; provider %.0f/s; noisy %d of %d, quiet %d of %d; %s",
        status.server(),
        status.perSecond(before),
        status.noisy().delivered(),
        status.noisy().sent(),
        status.quiet().delivered(),
        status.quiet().sent(),
        status.classes().stream().map(DemoLineView::text).collect(Collectors.joining(", ")));
  }

  private static String text(ModelCallLog.PriorityClassStats each) {
    return "%s %d of %d".formatted(each.priority(), each.granted(), each.requested());
  }

  private void say(long millis, String text) {
    out.println(String.format(Locale.ROOT, "%7s  %s", DemoStatus.seconds(millis), text));
    out.flush();
  }

  @Override
  public void close() {}
}
