package dev.sluice.cli.runtime;

import java.io.PrintWriter;

/** Shows progress in one rewritten line of a terminal; prints nothing elsewhere. */
public final class ProgressLine implements AutoCloseable {
  private static final int BAR = 30;

  /** Without a total, the line is rewritten after so many steps. */
  private static final long STEP = 100;

  private final PrintWriter err;
  private final boolean shown;
  private final long total;
  private String last = "";

  /** Creates a progress line; a total of 0 means unknown. */
  public ProgressLine(PrintWriter err, boolean shown, long total) {
    this.err = err;
    this.shown = shown;
    this.total = total;
  }

  /** Shows {@code done} of the total, and {@code count} as a number. */
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

  /** Clears the line. */
  @Override
  public void close() {
    if (!last.isEmpty()) {
      err.print("\r" + " ".repeat(last.length()) + "\r");
      err.flush();
    }
  }
}
