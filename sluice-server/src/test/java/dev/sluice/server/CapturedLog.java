package dev.sluice.server;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Everything that goes to the log, or past it to stderr, while this is open. */
final class CapturedLog implements AutoCloseable {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final PrintStream into = new PrintStream(written, true, StandardCharsets.UTF_8);
  private final PrintStream stderr = System.err;
  private final PrintStream stdout = System.out;
  private final Logger root = Logger.getLogger("");
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(@Nullable LogRecord line) {
          if (line != null && line.getThrown() != null) {
            line.getThrown().printStackTrace(into);
          }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  CapturedLog() {
    System.setErr(into);
    System.setOut(into);
    root.addHandler(handler);
  }

  /** What a stack trace consists of. */
  String text() {
    return written.toString(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    System.setErr(stderr);
    System.setOut(stdout);
    root.removeHandler(handler);
  }
}
