package dev.sluice.cli.runtime;

import java.io.PrintWriter;

/** Rewrites one line of a terminal; prints nothing elsewhere. Thread-safe. */
public final class StatusLine implements AutoCloseable {
  private final PrintWriter err;
  private final boolean shown;
  private int width;

  public StatusLine(PrintWriter err, boolean shown) {
    this.err = err;
    this.shown = shown;
  }

  public synchronized void show(String text) {
    if (shown) {
      err.print("\r" + text + " ".repeat(Math.max(0, width - text.length())));
      err.flush();
      width = text.length();
    }
  }

  /** Clears the line. */
  @Override
  public synchronized void close() {
    if (width > 0) {
      err.print("\r" + " ".repeat(width) + "\r");
      err.flush();
      width = 0;
    }
  }
}
