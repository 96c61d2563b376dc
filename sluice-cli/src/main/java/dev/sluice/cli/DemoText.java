package dev.sluice.cli;

import dev.sluice.cli.Snapshot.Counts;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** The demo as lines of text; on a terminal the last line is rewritten while it grows. */
final class DemoText implements DemoView {
  private static final int TICKS_PER_LINE = Demo.TICKS_PER_SECOND / 2;

  // As long as each line, so that one covers the other; at most 80 characters.
  private static final String HEADER =
      "  time  rate  tokens           polite  greedy  patient  denied  waits  retry in";
  private static final int TOKENS_PER_MARK = 2;

  private final PrintWriter out;
  private final boolean terminal;
  private Counts counted = Counts.NONE;

  DemoText(PrintWriter out, boolean terminal) {
    this.out = out;
    this.terminal = terminal;
  }

  @Override
  public void begin(int seconds) {
    out.printf(
        Locale.ROOT,
        "One bucket of %d tokens, refilled with %d a second, and three callers for %d s:%n",
        Demo.CAPACITY,
        Demo.FIRST_RATE,
        seconds);
    out.println("  polite   asks 4 times a second; when denied, it comes back when told");
    out.println("  greedy   asks 500 times a second, for half a second, then rests as long");
    out.println("  patient  wants 5 tokens and waits in line for them with consume()");
    out.println("Each line: tokens granted to each and requests denied since the line before,");
    out.println("how many callers wait, and when the greedy one was told to come back.");
    out.println();
    out.println(HEADER);
  }

  @Override
  public void tick(int tick, Snapshot snapshot) {
    if (tick % TICKS_PER_LINE == 0) {
      out.println(line(snapshot));
      counted = snapshot.counts();
    } else if (terminal) {
      out.print(line(snapshot) + "\r");
      out.flush();
    }
  }

  private String line(Snapshot snapshot) {
    Counts counts = snapshot.counts().since(counted);
    int level = (int) snapshot.bucket().level();
    return String.format(
        Locale.ROOT,
        "%5.1fs  %2d/s  [%s] %2d  %6d  %6d  %7d  %6d  %5d  %8s",
        seconds(snapshot),
        snapshot.bucket().perSecond(),
        bar(level),
        level,
        counts.polite().granted(),
        counts.greedy().granted(),
        counts.patient().granted(),
        counts.denied(),
        snapshot.bucket().waiting(),
        counts.greedy().denied() == 0 ? "-" : millis(snapshot.toldNanos()));
  }

  private static String bar(int level) {
    int length = (int) Demo.CAPACITY / TOKENS_PER_MARK;
    int marks = (level + TOKENS_PER_MARK - 1) / TOKENS_PER_MARK;
    return "#".repeat(marks) + ".".repeat(length - marks);
  }

  @Override
  public void limitChanged(long perSecond) {
    out.println("        --- the rate is now " + perSecond + "/s, changed while they run ---");
  }

  @Override
  public void end(Snapshot last, boolean legal) {
    Counts counts = last.counts();
    out.println();
    out.printf(
        Locale.ROOT,
        "%.1f s: polite %d, greedy %d, patient %d tokens; %d requests denied.%n",
        seconds(last),
        counts.polite().granted(),
        counts.greedy().granted(),
        counts.patient().granted(),
        counts.denied());
    out.printf(
        Locale.ROOT,
        "Check: legal at most %d (capacity + rate x time), granted %d: %s%n",
        last.legal(),
        counts.granted(),
        legal ? "the limit held." : "THE LIMIT WAS BROKEN.");
  }

  private static double seconds(Snapshot snapshot) {
    return (double) snapshot.elapsedNanos() / TimeUnit.SECONDS.toNanos(1);
  }

  private static String millis(long nanos) {
    return String.format(Locale.ROOT, "%.1fms", (double) nanos / TimeUnit.MILLISECONDS.toNanos(1));
  }
}
