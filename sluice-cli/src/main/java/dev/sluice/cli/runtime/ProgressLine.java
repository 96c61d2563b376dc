package dev.sluice.cli.runtime;

import java.io.PrintWriter;

/** How far long work is, in one line of a terminal that is rewritten; elsewhere nothing. */
public final class ProgressLine implements AutoCloseable {
  private static final int BAR = 30;

  /** Without a total: how often the line is rewritten. */
  private static final long STEP = 100;

  private final PrintWriter err;
  private final boolean shown;
  private final long total;
  private String last = "";

  /** A total of 0 means that nobody knows it. */
  public ProgressLine(PrintWriter err, boolean shown, long total) {
    this.err = err;
    this.shown = shown;
    this.total = total;
  }

  /** Shows {@code done} of the total, and {@code count} of what it is. */
  public void show(long done, long count) {
    if (!shown) {
      return;
    }
    String line = total > 0 ? bar(Math.min(done, total)) + "  " + count : counted(count);
    if (!line.isEmpty() && !line.equals(last)) {
      err.print("\r" + line);
      err.flush();
      last = line;
    }
  }

  private String bar(long done) {
    int percent = (int) ((double) done / total * 100);
    int marks = percent * BAR / 100;
    return "[%s%s] %3d%%".formatted("#".repeat(marks), ".".repeat(BAR - marks), percent);
  }

  private static String counted(long count) {
    return count % STEP == 0 ? Long.toString(count) : "";
  }

  /** Takes the line away. */
  @Override
  public void close() {
    if (!last.isEmpty()) {
      err.print("\r" + " ".repeat(last.length()) + "\r");
      err.flush();
    }
  }
}
